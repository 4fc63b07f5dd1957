import type { Tool } from '@modelcontextprotocol/server'
import type { Capability } from '../capability/capability.ts'
import { isPlainObject, type JsonObject } from '../capability/json.ts'
import type { Rules } from '../capability/rules.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { keyArgument } from '../governance/steps/check-input.ts'
import { toHints } from './to-hints.ts'
import { toolMeta } from './wire-names.ts'

export function toTool({ capability, fingerprint }: Entry<Capability>): Tool {
  const { name, title, description, input, output, effects, extras, origin } = capability
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: toInputSchema(input.schema, capability.rules) as Tool['inputSchema'],
    ...(output && { outputSchema: output.schema as NonNullable<Tool['outputSchema']> }),
    annotations: { ...toExtraAnnotations(extras), ...toHints(capability) },
    _meta: {
      [toolMeta.origin]: origin,
      [toolMeta.effects]: effects,
      ...toRulesMeta(capability.rules),
      [toolMeta.fingerprint]: fingerprint,
      ...(Object.keys(extras).length > 0 && { [toolMeta.extras]: extras }),
    },
  }
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
    'Required unless the client sends a key itself: unique to what you want done, and the same when you try again.',
}

/** Leaves out rules with default values: most capabilities have none, and lists contain them all. */
function toRulesMeta({ permissions, approval, approvers, ...rules }: Rules): object {
  const { idempotencyKey, cost, budgets, rates, timeout } = rules
  const activeRules = {
    ...(permissions.length > 0 && { permissions }),
    ...(approval && { approval }),
    ...(approvers !== undefined && { approvers }),
    ...(idempotencyKey && { idempotencyKey }),
    ...(cost && { cost }),
    ...(budgets.length > 0 && { budgets: budgets.map(({ id, ...budget }) => budget) }),
    ...(rates.length > 0 && { rates: rates.map(({ id, ...rate }) => rate) }),
    ...(timeout !== undefined && { timeout }),
  }
  return Object.keys(activeRules).length > 0 ? { [toolMeta.rules]: activeRules } : {}
}
