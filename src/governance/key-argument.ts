import type { Call } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'

/** The argument that carries the idempotency key. */
export const keyArgument = 'idempotency_key'

/**
 * Whose argument `idempotency_key` is.
 * - `added`: ours. Clients are shown it, and the capability never sees it.
 * - `own`: the capability declares it itself: it is the key, and is part of the input as well.
 * - `sometimes`: the same, but only in some branches of a union.
 * - `none`: the capability neither requires a key nor declares the argument.
 */
export type KeyArgument = 'added' | 'own' | 'sometimes' | 'none'

/** Computed once for each capability: it is asked in every call. */
const known = new WeakMap<Capability, KeyArgument>()

export function toKeyArgument(capability: Capability): KeyArgument {
  const existing = known.get(capability)
  if (existing !== undefined) return existing
  const declared = findDeclaration(capability.input.schema, capability.input.schema, maxDepth)
  const argument =
    declared !== 'none' ? declared : capability.rules.idempotencyKey ? 'added' : 'none'
  known.set(capability, argument)
  return argument
}

/** The key of a call whose capability receives it as an argument. */
export const findOwnKey = ({ capability, idempotencyKey }: Call): string | undefined =>
  ['own', 'sometimes'].includes(toKeyArgument(capability)) ? idempotencyKey : undefined

/** Of references and combinators: real schemas stay far below it, and recursive ones end. */
const maxDepth = 8

type Declaration = 'own' | 'sometimes' | 'none'

function findDeclaration(schema: unknown, root: JsonObject, depth: number): Declaration {
  if (!isPlainObject(schema) || depth === 0) return 'none'
  const { properties, $ref, allOf, anyOf, oneOf } = schema
  if (isPlainObject(properties) && Object.hasOwn(properties, keyArgument)) return 'own'
  const find = (part: unknown) => findDeclaration(part, root, depth - 1)
  const inherited = [
    ...(typeof $ref === 'string' ? [find(resolve($ref, root))] : []),
    ...toList(allOf).map(find),
  ]
  if (inherited.includes('own')) return 'own'
  const branches = [...toList(anyOf), ...toList(oneOf)].map(find)
  if (branches.length > 0 && branches.every((branch) => branch === 'own')) return 'own'
  return [...inherited, ...branches].some((one) => one !== 'none') ? 'sometimes' : 'none'
}

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The target of a reference within the schema. */
function resolve(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith('#')) return undefined
  let node: unknown = root
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    node = isPlainObject(node) && Object.hasOwn(node, name) ? node[name] : undefined
  }
  return node
}
