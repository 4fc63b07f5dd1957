import { findApprovals, isApprovalField } from './approval-fields.ts'
import type { Execute, Shape } from './dialect.ts'

/** Whether a value has fields that can be read: an object, or a function with properties. */
export const isShape = (value: unknown): value is Shape =>
  (typeof value === 'object' && value !== null && !Array.isArray(value)) ||
  typeof value === 'function'

export const isObject = (value: unknown): value is Shape =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Whether a value can only be a schema: JSON Schema of an object, or a schema of Zod or another library. */
export const isSchema = (value: unknown): value is Shape =>
  isShape(value) &&
  ('~standard' in value ||
    '_zod' in value ||
    '_def' in value ||
    (value.type === 'object' && isObject(value.properties)))

export type Method = (...values: unknown[]) => unknown

/** A method of the value, bound to it: instances need their `this`. */
export function findMethod(value: Shape, ...names: readonly string[]): Method | undefined {
  for (const name of names) {
    const method = value[name]
    if (typeof method === 'function' && !isClass(method))
      return (...values) => Reflect.apply(method, value, values)
  }
  return undefined
}

/** As `findMethod`, for a function that takes what `execute` takes. */
export const findExecute = (value: Shape, ...names: readonly string[]): Execute | undefined =>
  findMethod(value, ...names)

export const isClass = (value: unknown): value is new () => unknown =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))

/** The fields of our own definitions that an author may add to a tool of any dialect. */
const addedFields = [
  'title',
  'outputSchema',
  'category',
  'consequenceLevel',
  'requiresConfirmation',
  'timeout',
  'tags',
  'version',
  'status',
  'dependsOn',
  'permissions',
  'idempotencyKey',
  'cost',
  'effects',
  'text',
] as const

/**
 * The added fields, and `metadata.category`, which typed tools can have where `category` is a type error. Of
 * several values the last one decides, but what any of them forbids or requires counts: approvals, scopes, and
 * that the tool is disabled.
 */
export function readAddedFields(...values: readonly Shape[]): AddedFields {
  const added: AddedFields = {}
  for (const value of values) {
    const metadata = isObject(value.metadata) ? value.metadata : {}
    if (isText(metadata.category)) added.category = metadata.category
    for (const field of addedFields) if (value[field] !== undefined) added[field] = value[field]
  }
  const [approval] = values
    .flatMap((value) => [value, value.metadata, value.annotations, value._meta].filter(isObject))
    .flatMap(findApprovals)
  if (approval) added.requiresConfirmation = toApproval(approval[1])
  const annotations = values.flatMap(({ annotations, metadata }) =>
    [isObject(metadata) ? metadata.annotations : undefined, annotations].filter(isObject),
  )
  if (annotations.length > 0) added.annotations = annotations
  const challenges = values
    .map(({ scopeChallenge }) => scopeChallenge)
    .filter((one) => one !== undefined && one !== null)
  if (challenges.length > 0) added.scopeChallenges = challenges
  const disabledBy = values.flatMap(findDisabling)[0]
  if (disabledBy !== undefined) added.disabledBy = disabledBy
  return added
}

/** As the author wrote them; `settleFields` makes fields of our own definitions of them. */
export type AddedFields = {
  [Field in (typeof addedFields)[number] | GateField]?: unknown
}

/** Fields that are no fields of our own definitions. */
export type GateField = 'annotations' | 'scopeChallenges' | 'disabledBy'

/** A function would decide for each call: it stays one, so that it is reported. */
const toApproval = (required: unknown): unknown =>
  typeof required === 'function' ? required : true

/** Values by which a tool is switched off. Other values of these fields are reported as unknown. */
const switches: Readonly<Record<string, boolean>> = {
  enabled: false,
  isEnabled: false,
  disabled: true,
}

const findDisabling = (value: Shape): readonly string[] =>
  Object.entries(switches).flatMap(([field, off]) =>
    value[field] === off ? [`${field} is ${off}`] : [],
  )

/** Whether a field with this value means something in any dialect, although the dialect does not read it. */
export const isReadEverywhere = (field: string, value: unknown): boolean =>
  isApprovalField(field) || (Object.hasOwn(switches, field) && typeof value === 'boolean')

export const addedKeys: readonly string[] = [
  ...addedFields,
  'scopeChallenge',
  'metadata',
  'annotations',
  '_meta',
]

/** JSON Schema of a tool without arguments. */
export const noArguments = { type: 'object', properties: {} }
