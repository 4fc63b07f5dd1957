import type { Shape } from './dialect.ts'

/** Fields of other libraries for "a human must approve the call". */
const approvalFields = [
  'requiresConfirmation',
  'needsApproval',
  'requiresApproval',
  'requireApproval',
  'needs_approval',
  'requires_approval',
  'require_approval',
]

/** Any field about approvals or confirmations, such as `requires_human_approval`: to miss one would run the tool without. */
export const isApprovalField = (field: string): boolean => /approv|confirm/i.test(field)

/** The fields that require an approval, with their values. Own fields, and the known ones of a class. */
export const findApprovals = (value: Shape): readonly (readonly [string, unknown])[] =>
  [...new Set([...approvalFields, ...Object.keys(value).filter(isApprovalField)])]
    .map((field) => [field, value[field]] as const)
    .filter(([, required]) => Boolean(required))
