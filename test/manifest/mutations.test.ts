import { afterAll, expect, test } from 'vitest'
import { createDrawbridge, type Source } from '../../src/index.ts'
import { manifestSourceFrom } from '../../src/sources/manifest/manifest-source.ts'
import { createRandom, fuzzSeed, type Random } from '../fuzz/random.ts'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  aWritingCapability,
  type Fields,
  toJson,
  toYaml,
} from '../support/a-manifest.ts'
import { amount, atMost } from '../support/amount.ts'

const mutantCount = amount(60, 2_000)
const seed = fuzzSeed

const schema = {
  type: 'object',
  properties: { order: { type: 'string', pattern: '^A-[0-9]+$' }, lines: { type: 'array' } },
  required: ['order'],
  additionalProperties: false,
}

/** The manifest to mutate: five capabilities of different kinds. */
const baseManifest = aManifest({
  identity: { tags: ['orders'] },
  requirements: {
    permissions: ['orders.read', 'orders.write'],
    secrets: [{ id: 'desk', secret_ref: 'env://DESK' }],
    budget: { currency: 'EUR', monthly_limit: 100 },
  },
  capabilities: [
    { id: 'read-one', input_schema: schema, permissions: ['orders.read'] },
    {
      id: 'read-two',
      output_schema: { type: 'array', items: { type: 'string' } },
      idempotent: true,
    },
    { id: 'read-three', input_schema: { $ref_uri: 'order.json' } },
    aWritingCapability({ id: 'write-low', input_schema: schema }),
    aWritingCapability({
      id: 'write-high',
      side_effect_level: 'high',
      cost: { estimated_cost: 1 },
    }),
  ],
  interfaces: [
    anInterface({ rate_limit: { requests_per_minute: 100 } }),
    anInterface({ name: 'http', protocol: 'HTTP', privileged: true, permissions: ['desk.enter'] }),
    anInternalInterface(),
  ],
  policy: { human_approval_actions: ['orders.write'] },
  composition: {
    type: 'pipeline',
    deterministic: true,
    steps: [
      { id: 'one', capability_ref: 'read-one', on_failure: 'abort' },
      { id: 'two', capability_ref: 'write-low', on_failure: 'retry' },
    ],
  },
  provenance: { created_at: '2026-05-04T09:00:00Z', source: 'first_party' },
})
const ids = baseManifest.capabilities.map(({ id }) => String(id))
const writingIds = ids.filter((id) => id.startsWith('write'))

/** JSON copy: unlike `structuredClone`, it does not keep shared references. */
const copyOf = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))

/** A randomly mutated manifest. */
interface Mutant {
  readonly text: string
  /** The mutated data; undefined if the text itself was mutated. */
  readonly data: Fields | undefined
  /** Pointers of the mutated values; the root pointer if the text was mutated. */
  readonly mutatedPointers: readonly string[]
}

function mutate(random: Random): Mutant {
  const data = copyOf(baseManifest)
  const mutatedPointers: string[] = []
  const mutationCount = 1 + random.below(random.chance(0.2) ? 5 : 2)
  for (let time = 0; time < mutationCount; time++) {
    const spots = toSpots(data, '')
    mutatedPointers.push(random.pick(mutations)(random.pick(spots), random))
  }
  const text = random.chance(0.5) ? toYaml(data) : toJson(data)
  if (!random.chance(0.1)) return { text, data, mutatedPointers }
  return { text: random.pick(textMutations)(text, random), data: undefined, mutatedPointers: [''] }
}

/** One value in its parent object or array. */
interface Spot {
  readonly parent: Fields | unknown[]
  readonly key: string
  readonly pointer: string
}

function toSpots(value: unknown, pointer: string): Spot[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    const childPointer = `${pointer}/${key}`
    return [{ parent: value as Fields, key, pointer: childPointer }, ...toSpots(item, childPointer)]
  })
}

type Mutation = (spot: Spot, random: Random) => string

const remove: Mutation = ({ parent, key, pointer }) => {
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
  return parentOf(pointer)
}

const repeat: Mutation = ({ parent, key, pointer }) => {
  if (Array.isArray(parent)) parent.push(structuredClone(parent[Number(key)]))
  else parent[`${key}_too`] = structuredClone(parent[key])
  return parentOf(pointer)
}

const retype: Mutation = ({ parent, key, pointer }, random) => {
  const parentFields = parent as Fields
  const value = parentFields[key]
  parentFields[key] = random.pick([
    [value],
    { value },
    JSON.stringify(value),
    null,
    0,
    -1,
    1e308,
    true,
    '',
    [],
    {},
  ])
  return pointer
}

const rename: Mutation = ({ parent, key, pointer }, random) => {
  if (Array.isArray(parent)) return repeat({ parent, key, pointer }, random)
  const value = parent[key]
  delete parent[key]
  parent[random.pick([key.toUpperCase(), `${key} `, `x-${key}`, 'constructor', '', 'type'])] = value
  return parentOf(pointer)
}

const insert: Mutation = ({ parent, pointer }, random) => {
  const value = random.pick<unknown>([
    null,
    {},
    [],
    'odd',
    7,
    { $ref: 'https://a.example/x' },
    { a: [[]] },
  ])
  if (Array.isArray(parent)) parent.splice(random.below(parent.length + 1), 0, value)
  else
    parent[random.pick(['surprise', '$ref', '$ref_uri', 'type', 'x-acme', '0', 'toString'])] = value
  return parentOf(pointer)
}

const swap: Mutation = ({ parent, key, pointer }, random) => {
  const otherSpot = random.pick(toSpots(baseManifest, ''))
  ;(parent as Fields)[key] = structuredClone((otherSpot.parent as Fields)[otherSpot.key])
  return pointer
}

const corrupt: Mutation = ({ parent, key, pointer }, random) => {
  const parentFields = parent as Fields
  if (typeof parentFields[key] !== 'string') return retype({ parent, key, pointer }, random)
  const oddTexts = ['\u0000', '\ud800', '../', ' ', 'é', 'x'.repeat(2000), '\u202e', '%', '{{', '*']
  parentFields[key] = `${parentFields[key]}${random.pick(oddTexts)}`
  return pointer
}

const mutations = [remove, remove, repeat, retype, retype, rename, insert, swap, corrupt]

const textMutations: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => text.slice(0, random.below(text.length)),
  (text, random) => {
    const at = random.below(text.length)
    return `${text.slice(0, at)}${random.pick(['"', '}', ':', '\t', '\0', '&a ', '*a ', '- ', '#'])}${text.slice(at)}`
  },
  (text) => `${text}${text}`,
]

/** Removing or inserting an item shifts its siblings, so the parent counts as mutated. */
const parentOf = (pointer: string): string => pointer.replace(/\/[^/]*$/, '')

const handlers = new Map(ids.map((id) => [id, { run: () => ({}), code: '' }]))

/** A manifest source that reads the text and uses no I/O. */
const toSource = (text: string): Source =>
  manifestSourceFrom({
    id: 'agent.yaml',
    file: 'agent.yaml',
    text: async () => text,
    handlers: async () => ({ byId: handlers, exports: [] }),
    extensions: [],
    strict: true,
    all: false,
    compose: false,
    loadReference: () => async (reference) => {
      if (reference !== 'order.json') throw new Error('no such file')
      return { key: reference, document: schema }
    },
    protocols: {
      MCP: () => ({ call: neverCalled, probe: neverCalled, close: async () => {} }),
      HTTP: () => ({ call: neverCalled, probe: neverCalled, close: async () => {} }),
    },
    resolveSecret: async () => undefined,
    isUnset: () => false,
    secrets: {},
    probes: {},
    compareSchemas: () => [],
    readDocument: () => Promise.reject(new Error('no document is read')),
    steadyNow: () => 0,
  })

const neverCalled = () => Promise.reject(new Error('no upstream is called in this test'))

/** A single server loads the manifests one after another, as on file changes. */
const bridge = createDrawbridge({ sources: [] })
afterAll(() => bridge.close(0))

async function load(text: string) {
  const startMs = performance.now()
  await bridge.ready
  await bridge.replace([{ source: toSource(text), mount: '/mcp' }])
  const { tools } = await bridge.list()
  const elapsedMs = performance.now() - startMs
  return { tools, diagnostics: bridge.diagnostics, elapsedMs }
}

test('the unmutated manifest is served completely', async () => {
  const { tools, diagnostics } = await load(toYaml(baseManifest))

  expect(tools.map(({ name }) => name).sort()).toEqual([...ids].sort())
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
})

test(`${mutantCount} mutated manifests: valid capabilities are served, invalid ones are omitted with a diagnostic`, async () => {
  const tally = { served: 0, quarantined: 0, slowest: 0 }
  const slowest = { elapsedMs: 0, at: -1 }
  for (let index = 0; index < mutantCount; index++) {
    const { text, data, mutatedPointers } = mutate(createRandom(seed + index))
    const { tools, diagnostics, elapsedMs } = await load(text).catch((error) => {
      throw new Error(`mutant ${index} does not load: ${error}\n${text}`)
    })
    const summary = JSON.stringify([index, mutatedPointers, diagnostics.map(toBrief)])
    const names = tools.map(({ name }) => name)
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    if (elapsedMs > slowest.elapsedMs) Object.assign(slowest, { elapsedMs, at: index })
    tally.served += names.length

    expect(elapsedMs, `mutant ${index}`).toBeLessThan(atMost(2000))
    for (const tool of tools) expect(tool.inputSchema.type, `mutant ${index}`).toBe('object')
    for (const { code, at, pointer, message } of diagnostics) {
      if (!catalogCodes.has(code)) expect(String(at), summary).toMatch(/^agent\.yaml:\d+:\d+$/)
      expect(pointer, summary).toMatch(/^(\/.*)?$/s)
      expect(message).toMatch(/\S/)
    }
    // A capability that is in the data but not served must be explained by a diagnostic.
    const missingIds = ids.filter((id) => isDeclared(data, id) && !names.includes(id))
    tally.quarantined += missingIds.length
    if (missingIds.length > 0) expect(diagnostics, summary).not.toEqual([])
    for (const id of missingIds)
      expect(isExplained(data, id, diagnostics), `${id} ${summary}`).toBe(true)
    // Unmutated capabilities are served if no mutation is outside /capabilities/<index>/.
    if (data && mutatedPointers.every((pointer) => /^\/capabilities\/\d+\//.test(pointer)))
      for (const [at, id] of ids.entries())
        if (
          !mutatedPointers.some((pointer) => pointer.startsWith(`/capabilities/${at}`)) &&
          count(data, id) === 1
        )
          expect(names, summary).toContain(id)
    // Invalid trust, requirements or runtime: only read-only tools may be served.
    if (errors.some(({ pointer }) => /^\/(trust|requirements|runtime)(\/|$)/.test(pointer)))
      for (const id of names) {
        const tool = tools.find(({ name }) => name === id)
        expect(tool?.annotations?.readOnlyHint, `${id} ${summary}`).toBe(true)
      }
  }
  console.info(
    `${mutantCount} mutants: ${tally.served} tools served, ${tally.quarantined} quarantined, slowest ${Math.round(slowest.elapsedMs)} ms (mutant ${slowest.at})`,
  )
  expect(tally.served).toBeGreaterThan(mutantCount)
  expect(tally.quarantined).toBeGreaterThan(mutantCount / 4)
})

test.each(['trust', 'requirements', 'runtime'])(
  'no capability with effects is served when any field of %s is invalid',
  async (section) => {
    for (const spot of toSpots(baseManifest[section], `/${section}`)) {
      for (const value of [undefined, null, 'odd value', -5, [[]], { odd: 1 }]) {
        const data = copyOf(baseManifest)
        const { parent, key } = find(data, spot.pointer)
        if (value === undefined) delete (parent as Fields)[key]
        else (parent as Fields)[key] = value
        const { tools, diagnostics } = await load(toJson(data))
        const isInvalid = diagnostics.some(
          ({ severity, pointer }) => severity === 'error' && pointer.startsWith(`/${section}`),
        )
        const names = tools.map(({ name }) => name)

        if (isInvalid)
          expect(
            names.filter((id) => writingIds.includes(id)),
            spot.pointer,
          ).toEqual([])
        else expect(names, spot.pointer).toEqual(expect.arrayContaining(writingIds))
      }
    }
  },
)

/** Diagnostics of the catalog, which has no line numbers. */
const catalogCodes = new Set(['name_rewritten', 'definition_unusable'])

const toBrief = ({
  severity,
  code,
  pointer,
}: {
  severity: string
  code: string
  pointer: string
}) => `${severity} ${code} ${pointer}`

const capabilitiesOf = (data: Fields | undefined): unknown[] =>
  Array.isArray(data?.capabilities) ? data.capabilities : []

const idOf = (item: unknown): unknown =>
  typeof item === 'object' && item !== null ? (item as Fields).id : undefined

const isDeclared = (data: Fields | undefined, id: string): boolean =>
  capabilitiesOf(data).some((item) => idOf(item) === id)

const count = (data: Fields, id: string): number =>
  capabilitiesOf(data).filter((item) => idOf(item) === id).length

/** A diagnostic explains a missing capability by its own path or by a field the whole manifest needs. */
function isExplained(
  data: Fields | undefined,
  id: string,
  diagnostics: readonly { pointer: string; code: string }[],
): boolean {
  const places = capabilitiesOf(data).flatMap((item, index) =>
    idOf(item) === id ? [`/capabilities/${index}`] : [],
  )
  return diagnostics.some(
    ({ pointer, code }) =>
      code === 'manifest_unreadable' ||
      /^\/(schema_version|identity)/.test(pointer) ||
      places.some((place) => pointer === place || pointer.startsWith(`${place}/`)),
  )
}

function find(data: Fields, pointer: string): { parent: unknown; key: string } {
  const steps = pointer.slice(1).split('/')
  const key = steps.pop() ?? ''
  let parent: unknown = data
  for (const step of steps) parent = (parent as Fields)[step]
  return { parent, key }
}
