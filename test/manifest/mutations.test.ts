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

const total = amount(60, 2_000)
const seed = fuzzSeed

const schema = {
  type: 'object',
  properties: { order: { type: 'string', pattern: '^A-[0-9]+$' }, lines: { type: 'array' } },
  required: ['order'],
  additionalProperties: false,
}

/** The manifest that everything begins with: five capabilities, each of another make. */
const original = aManifest({
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
const ids = original.capabilities.map(({ id }) => String(id))
const writing = ids.filter((id) => id.startsWith('write'))

/** Nothing in it stands in two places, as it would after `structuredClone`. */
const copyOf = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))

/** A manifest that chance had its way with. */
interface Mutant {
  readonly text: string
  /** As data, where it is still the text of some. */
  readonly data: Fields | undefined
  /** The pointers that were touched; of a text that was cut, the whole. */
  readonly touched: readonly string[]
}

function mutate(random: Random): Mutant {
  const data = copyOf(original)
  const touched: string[] = []
  const times = 1 + random.below(random.chance(0.2) ? 5 : 2)
  for (let time = 0; time < times; time++) {
    const spots = toSpots(data, '')
    touched.push(random.pick(mutations)(random.pick(spots), random))
  }
  const text = random.chance(0.5) ? toYaml(data) : toJson(data)
  if (!random.chance(0.1)) return { text, data, touched }
  return { text: random.pick(textMutations)(text, random), data: undefined, touched: [''] }
}

/** Something that stands in something else, under a key or an index. */
interface Spot {
  readonly parent: Fields | unknown[]
  readonly key: string
  readonly pointer: string
}

function toSpots(value: unknown, pointer: string): Spot[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    const here = `${pointer}/${key}`
    return [{ parent: value as Fields, key, pointer: here }, ...toSpots(item, here)]
  })
}

type Mutation = (spot: Spot, random: Random) => string

const remove: Mutation = ({ parent, key, pointer }) => {
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
  return around(pointer)
}

const repeat: Mutation = ({ parent, key, pointer }) => {
  if (Array.isArray(parent)) parent.push(structuredClone(parent[Number(key)]))
  else parent[`${key}_too`] = structuredClone(parent[key])
  return around(pointer)
}

const retype: Mutation = ({ parent, key, pointer }, random) => {
  const holder = parent as Fields
  const value = holder[key]
  holder[key] = random.pick([
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
  return around(pointer)
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
  return around(pointer)
}

const swap: Mutation = ({ parent, key, pointer }, random) => {
  const other = random.pick(toSpots(original, ''))
  ;(parent as Fields)[key] = structuredClone((other.parent as Fields)[other.key])
  return pointer
}

const bend: Mutation = ({ parent, key, pointer }, random) => {
  const holder = parent as Fields
  if (typeof holder[key] !== 'string') return retype({ parent, key, pointer }, random)
  const odd = ['\u0000', '\ud800', '../', ' ', 'é', 'x'.repeat(2000), '\u202e', '%', '{{', '*']
  holder[key] = `${holder[key]}${random.pick(odd)}`
  return pointer
}

const mutations = [remove, remove, repeat, retype, retype, rename, insert, swap, bend]

const textMutations: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => text.slice(0, random.below(text.length)),
  (text, random) => {
    const at = random.below(text.length)
    return `${text.slice(0, at)}${random.pick(['"', '}', ':', '\t', '\0', '&a ', '*a ', '- ', '#'])}${text.slice(at)}`
  },
  (text) => `${text}${text}`,
]

/** What was done to one item of a list may move the others; what was done to a field, its mapping. */
const around = (pointer: string): string => pointer.replace(/\/[^/]*$/, '')

const handlers = new Map(ids.map((id) => [id, () => ({})]))

/** The text as a source, with nothing outside of this process. */
const toSource = (text: string): Source =>
  manifestSourceFrom({
    id: 'agent.yaml',
    file: 'agent.yaml',
    text: async () => text,
    handlers: async () => handlers,
    extensions: [],
    strict: true,
    all: false,
    compose: false,
    loadReference: async (reference) => {
      if (reference !== 'order.json') throw new Error('there is no such file')
      return { key: reference, document: schema }
    },
    protocols: {
      MCP: () => ({ call: neverCalled, close: async () => {} }),
      HTTP: () => ({ call: neverCalled, close: async () => {} }),
    },
    resolveSecret: async () => undefined,
  })

const neverCalled = () => Promise.reject(new Error('nothing is called here'))

/** One server that takes one manifest after the other, as it does when a file changes. */
const bridge = createDrawbridge({ sources: [] })
afterAll(() => bridge.close(0))

async function load(text: string) {
  const started = performance.now()
  await bridge.ready
  await bridge.replace([{ source: toSource(text), mount: '/mcp' }])
  const { tools } = await bridge.list()
  const took = performance.now() - started
  return { tools, diagnostics: bridge.diagnostics, took }
}

test('the manifest as it was is served whole', async () => {
  const { tools, diagnostics } = await load(toYaml(original))

  expect(tools.map(({ name }) => name).sort()).toEqual([...ids].sort())
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
})

test(`${total} mutated manifests: what is good is served, what is bad is left out and said`, async () => {
  const tally = { served: 0, quarantined: 0, slowest: 0 }
  const slowest = { took: 0, at: -1 }
  for (let index = 0; index < total; index++) {
    const { text, data, touched } = mutate(createRandom(seed + index))
    const { tools, diagnostics, took } = await load(text).catch((error) => {
      throw new Error(`mutant ${index} does not load: ${error}\n${text}`)
    })
    const told = JSON.stringify([index, touched, diagnostics.map(toBrief)])
    const names = tools.map(({ name }) => name)
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    if (took > slowest.took) Object.assign(slowest, { took, at: index })
    tally.served += names.length

    expect(took, `mutant ${index}`).toBeLessThan(atMost(2000))
    for (const tool of tools) expect(tool.inputSchema.type, `mutant ${index}`).toBe('object')
    for (const { code, at, pointer, message } of diagnostics) {
      if (!ofTheCatalog.has(code)) expect(String(at), told).toMatch(/^agent\.yaml:\d+:\d+$/)
      expect(pointer, told).toMatch(/^(\/.*)?$/s)
      expect(message).toMatch(/\S/)
    }
    // Whatever was there, and is not there any more, was either taken out or is said.
    const written = ids.filter((id) => isWritten(data, id) && !names.includes(id))
    tally.quarantined += written.length
    if (written.length > 0) expect(diagnostics, told).not.toEqual([])
    for (const id of written) expect(isExplained(data, id, diagnostics), `${id} ${told}`).toBe(true)
    // What was not touched, in a manifest whose frame was not touched either, is served.
    if (data && touched.every((pointer) => /^\/capabilities\/\d+\//.test(pointer)))
      for (const [at, id] of ids.entries())
        if (
          !touched.some((pointer) => pointer.startsWith(`/capabilities/${at}`)) &&
          count(data, id) === 1
        )
          expect(names, told).toContain(id)
    // Nothing with effects is served when what governs effects is broken.
    if (errors.some(({ pointer }) => /^\/(trust|requirements|runtime)(\/|$)/.test(pointer)))
      for (const id of names) {
        const tool = tools.find(({ name }) => name === id)
        expect(tool?.annotations?.readOnlyHint, `${id} ${told}`).toBe(true)
      }
  }
  console.info(
    `${total} mutants: ${tally.served} tools served, ${tally.quarantined} quarantined, slowest ${Math.round(slowest.took)} ms (mutant ${slowest.at})`,
  )
  expect(tally.served).toBeGreaterThan(total)
  expect(tally.quarantined).toBeGreaterThan(total / 4)
}, 60_000)

test.each(['trust', 'requirements', 'runtime'])(
  'wherever %s breaks, nothing with effects is served',
  async (section) => {
    for (const spot of toSpots(original[section], `/${section}`)) {
      for (const value of [undefined, null, 'odd value', -5, [[]], { odd: 1 }]) {
        const data = copyOf(original)
        const { parent, key } = find(data, spot.pointer)
        if (value === undefined) delete (parent as Fields)[key]
        else (parent as Fields)[key] = value
        const { tools, diagnostics } = await load(toJson(data))
        const broken = diagnostics.some(
          ({ severity, pointer }) => severity === 'error' && pointer.startsWith(`/${section}`),
        )
        const names = tools.map(({ name }) => name)

        if (broken)
          expect(
            names.filter((id) => writing.includes(id)),
            spot.pointer,
          ).toEqual([])
        else expect(names, spot.pointer).toEqual(expect.arrayContaining(writing))
      }
    }
  },
)

/** Said where all sources come together, and lines are not known. */
const ofTheCatalog = new Set(['name_rewritten', 'definition_unusable'])

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

const isWritten = (data: Fields | undefined, id: string): boolean =>
  capabilitiesOf(data).some((item) => idOf(item) === id)

const count = (data: Fields, id: string): number =>
  capabilitiesOf(data).filter((item) => idOf(item) === id).length

/** By its own path, or by that of something the whole manifest needs. */
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
