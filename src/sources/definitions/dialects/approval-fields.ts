import { isPlainObject } from '../../../json/is-plain-object.ts'
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

/** Whether the field is known from a library; others only read as if they asked for an approval. */
export const isKnownApprovalField = (field: string): boolean => approvalFields.includes(field)

/**
 * Any name that asks for an approval or a confirmation, such as `requires_human_approval`: to miss one would
 * run the tool without. Not `approvedBy`, `confirmationText` or `skipConfirmation`.
 */
export const isApprovalField = (field: string): boolean =>
  /^(?:is|needs?|requires?|must|asks?|for|human|user|manual|explicit|always|have)*(?:approval|approve|confirmation|confirm)(?:is)?(?:required|needed|mode|policy|before|first)?$/.test(
    field.toLowerCase().replaceAll(/[_-]/g, ''),
  )

/** The fields that require an approval, with their values. Own fields, and the known ones of a class. */
export const findApprovals = (value: Shape): readonly (readonly [string, unknown])[] =>
  [...new Set([...approvalFields, ...Object.keys(value).filter(isApprovalField)])]
    .map((field) => [field, value[field]] as const)
    .filter(([, required]) => isRequired(required))

/** Everything but a clear no. */
function isRequired(value: unknown): boolean {
  if (!value) return false
  if (typeof value === 'string') return !no.test(value)
  if (Array.isArray(value)) return value.length > 0
  if (!isPlainObject(value)) return true
  const answers = ['required', 'enabled', 'mode', 'policy'].filter((field) => field in value)
  return answers.length === 0 || answers.some((field) => isRequired(value[field]))
}

const no = /^(?:never|none|no|false|off|auto|automatic|optional|not[ _-]?required)$/i
