import type { Tool } from '@modelcontextprotocol/server'
import type { Capability } from '../capability/capability.ts'
import type { JsonObject } from '../capability/json.ts'
import type { Rules } from '../capability/rules.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { keyArgument } from '../governance/steps/check-input.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { toHints } from './to-hints.ts'
import { toOrigin } from './to-origin.ts'
import { toolMeta } from './wire-names.ts'

export function toTool({ capability, fingerprint }: Entry<Capability>): Tool {
  const { name, title, description, input, output, effects, extras, origin } = capability
  return dropUndefined({
    name,
    title,
    description,
    inputSchema: toInputSchema(input.schema, capability.rules) as Tool['inputSchema'],
    outputSchema: output?.schema as Tool['outputSchema'],
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

/** Adds the idempotency key, because a model can only send what the schema declares. */
function toInputSchema(schema: JsonObject, { idempotencyKey }: Rules): JsonObject {
  if (!idempotencyKey) return schema
  const properties = isPlainObject(schema.properties) ? (schema.properties as JsonObject) : {}
  return { ...schema, properties: { ...properties, [keyArgument]: keySchema } }
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
