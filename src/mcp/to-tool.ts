import type { Tool } from '@modelcontextprotocol/server'
import type { Capability } from '../capability/capability.ts'
import type { Json, JsonObject } from '../capability/json.ts'
import type { Rules } from '../capability/rules.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { keyArgument, toKeyArgument } from '../governance/key-argument.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { lowerSchema } from './schemas/lower-schema.ts'
import type { SchemaProfileName } from './schemas/profiles.ts'
import { toHints } from './to-hints.ts'
import { toOrigin } from './to-origin.ts'
import { toolMeta } from './wire-names.ts'

export function toTool(
  { capability, fingerprint }: Entry<Capability>,
  profile: SchemaProfileName,
): Tool {
  const { name, title, description, output, effects, extras, origin } = capability
  return dropUndefined({
    name,
    title,
    description,
    inputSchema: toInputSchema(capability, profile) as Tool['inputSchema'],
    outputSchema: (output &&
      lowerSchema(output.schema, 'output', profile).schema) as Tool['outputSchema'],
    annotations: { ...toExtraAnnotations(extras), ...toHints(capability) },
    _meta: dropUndefined({
      [toolMeta.origin]: toOrigin(origin),
      [toolMeta.effects]: effects,
      [toolMeta.rules]: toActiveRules(capability.rules),
      [toolMeta.fingerprint]: fingerprint,
      [toolMeta.extras]: nonEmpty(extras),
    }),
  })
}

/** Annotations that a mapping sets by name. Official clients strip unknown ones, so `_meta` repeats them. */
const toExtraAnnotations = ({ annotations }: JsonObject): JsonObject =>
  isPlainObject(annotations) ? (annotations as JsonObject) : {}

/** Adds the idempotency key if the schema does not declare it: a model can only send what it declares. */
function toInputSchema(capability: Capability, profile: SchemaProfileName): JsonObject {
  const { schema } = lowerSchema(capability.input.schema, 'input', profile)
  if (toKeyArgument(capability) !== 'added') return schema
  const properties = isPlainObject(schema.properties) ? (schema.properties as JsonObject) : {}
  return { ...withOpenVariants(schema), properties: { ...properties, [keyArgument]: keySchema } }
}

/** A variant of a root union that is closed would refuse the key. */
function withOpenVariants(schema: JsonObject): JsonObject {
  const open: Record<string, JsonObject[string]> = { ...schema }
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const variants = schema[keyword]
    if (Array.isArray(variants)) open[keyword] = variants.map(withKeyProperty)
  }
  return open
}

function withKeyProperty(variant: unknown): Json {
  if (!isPlainObject(variant)) return variant as Json
  const open = withOpenVariants(variant as JsonObject)
  return open.additionalProperties === false
    ? { ...open, properties: { ...(open.properties as JsonObject), [keyArgument]: {} } }
    : open
}

const keySchema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'Unique to the intended action; send the same value on a retry. Required unless the client sends a key itself.',
}

/** Leaves out rules with default values: most capabilities have none, and lists contain them all. */
function toActiveRules({ permissions, approval, approvers, ...rules }: Rules): object | undefined {
  const { idempotencyKey, cost, budgets, rates, timeout } = rules
  const activeRules = dropUndefined({
    permissions: nonEmpty(permissions),
    approval: approval || undefined,
    approvers,
    idempotencyKey: idempotencyKey || undefined,
    cost,
    budgets: nonEmpty(budgets.map(({ id, ...budget }) => budget)),
    rates: nonEmpty(rates.map(({ id, ...rate }) => rate)),
    timeout,
  })
  return nonEmpty(activeRules)
}

const nonEmpty = <T extends object>(value: T): T | undefined =>
  Object.keys(value).length > 0 ? value : undefined
