import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { SettingRule } from '../../src/capability/trust-surface.ts'
import { diffSnapshots } from '../../src/catalog/diff/diff-snapshots.ts'
import { configRules } from '../../src/runtime/config/config-rules.ts'
import { configShape } from '../../src/runtime/config/config-shape.ts'
import { manifestShape } from '../../src/sources/manifest/reading/manifest-shape.ts'
import { manifestRules } from '../../src/sources/manifest/to-surface.ts'
import {
  aManifest,
  answering,
  type Fields,
  type ManifestData,
  serveManifest,
} from '../support/a-manifest.ts'

/**
 * A field that is added to one of the shapes fails here until someone decides what a change of it means: with a
 * row in the table of rules, or here with the reason why it has none.
 */

/** The location and kind of a source, which `diff` compares in one form for all kinds. */
const comparedAsFrom = 'compared as /sources/*/kind and /sources/*/from'
const withoutRuleInConfig: Readonly<Record<string, string>> = {
  '/sources/*/manifest': comparedAsFrom,
  '/sources/*/definitions': comparedAsFrom,
  '/sources/*/openapi': comparedAsFrom,
  '/sources/*/intents': comparedAsFrom,
  '/sources/*/intents/agents': comparedAsFrom,
  '/sources/*/records': comparedAsFrom,
  '/sources/*/source': comparedAsFrom,
  '/sources/*/service': comparedAsFrom,
  '/sources/*/module': comparedAsFrom,
}

/** Fields of capabilities: the tools are compared, with all that they are made of. The values change one each. */
const changesOfCapabilities: Readonly<Record<string, Fields>> = {
  '/capabilities/*/id': { id: 'other' },
  '/capabilities/*/name': { name: 'Other name' },
  '/capabilities/*/description': { description: 'Does something else.' },
  '/capabilities/*/category': { category: 'reasoning' },
  '/capabilities/*/input_schema/type': { input_schema: { type: 'string' } },
  '/capabilities/*/output_schema/type': { output_schema: { type: 'array' } },
  '/capabilities/*/input_schema/$ref_uri': { input_schema: { $ref_uri: 'a.json' } },
  '/capabilities/*/output_schema/$ref_uri': { output_schema: { $ref_uri: 'a.json' } },
  '/capabilities/*/protocols': { protocols: ['MCP', 'A2A', 'INTERNAL'] },
  '/capabilities/*/permissions': { permissions: ['other'] },
  '/capabilities/*/idempotency_key_required': { idempotency_key_required: true },
  '/capabilities/*/idempotent': { idempotent: true },
  '/capabilities/*/side_effect_level': {
    side_effect_level: 'low',
    idempotency_key_required: true,
  },
  '/capabilities/*/cost/mode': { cost: { mode: 'token' } },
  '/capabilities/*/cost/estimated_cost': { cost: { estimated_cost: 3 } },
  '/capabilities/*/cost/unit': { cost: { unit: 'EUR' } },
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly type?: string
}

/** Pointers of all values that are no objects; `*` stands for the items of lists and mappings. */
function leavesOf(schema: Schema, at = ''): string[] {
  if (schema.anyOf) return schema.anyOf.flatMap((one) => leavesOf(one, at))
  const items = schema.items ? leavesOf(schema.items, `${at}/*`) : []
  if (schema.items) return items.every((one) => one === `${at}/*`) ? [at] : items
  const { properties = {}, additionalProperties } = schema
  const named = Object.entries(properties).flatMap(([key, one]) => leavesOf(one, `${at}/${key}`))
  // Any further keys, as in a JSON Schema, are no fields of their own.
  const isMapping =
    typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
  const others = isMapping ? leavesOf(additionalProperties, `${at}/*`) : []
  return named.length + others.length > 0 ? [...named, ...others] : [at]
}

const toLeaves = (shape: z.ZodType): string[] => [
  ...new Set(leavesOf(z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as Schema)),
]

/** A rule for the leaf itself, or for a part that is compared as a whole. */
const isCovered = (leaf: string, rules: readonly SettingRule[]): boolean =>
  rules.some(
    ({ at, judgement, items }) =>
      at === leaf ||
      (leaf.startsWith(`${at}/`) && !items && (judgement === 'review' || judgement === 'text')),
  )

describe.each([
  ['drawbridge.yaml', configShape, configRules, withoutRuleInConfig],
  ['a manifest', manifestShape, manifestRules, changesOfCapabilities],
] as const)('%s', (_, shape, rules, exceptions) => {
  const leaves = toLeaves(shape)

  test('every field has a rule, or a reason why it needs none', () => {
    expect(leaves.length).toBeGreaterThan(50)
    const missing = leaves.filter((leaf) => !(leaf in exceptions) && !isCovered(leaf, rules))

    expect(missing).toEqual([])
  })

  test('every rule and every exception is about a field', () => {
    const made = ['/sources/*/kind', '/sources/*/from']
    const isKnown = (at: string) =>
      made.includes(at) || leaves.some((leaf) => leaf === at || leaf.startsWith(`${at}/`))

    const pointers = [...rules.map(({ at }) => at), ...Object.keys(exceptions)]
    expect(pointers.filter((at) => !isKnown(at))).toEqual([])
  })

  test('no two rules are about the same field', () => {
    const pointers = rules.map(({ at }) => at)

    expect(pointers.filter((at, index) => pointers.indexOf(at) !== index)).toEqual([])
  })
})

describe('a changed field of a capability', () => {
  const files = { 'a.json': '{ "type": "object", "minProperties": 1 }' }
  const serve = async (manifest: ManifestData) => {
    const bridge = await serveManifest(manifest, { files, handlers: answering(manifest) })
    return bridge.mounts.get('/mcp')
  }

  test.each(Object.entries(changesOfCapabilities))('%s is seen', async (_, change) => {
    const before = await serve(aManifest({ capabilities: [{}] }))
    const after = await serve(aManifest({ capabilities: [change] }))
    if (!before || !after) throw new Error('The manifest is not served.')

    const found = diffSnapshots(before, after).filter(({ noun }) => noun === 'capability')
    expect(found.length).toBeGreaterThan(0)
  })
})
