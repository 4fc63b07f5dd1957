import { Fields, type Node, Raw, toNode, toText } from './json-text.ts'
import type { Random } from './random.ts'

/** The text of a valid message after random mutations. */
export function mutate(seed: unknown, random: Random): string {
  const root: Root = { node: toNode(seed) }
  // One in twenty stays valid.
  const mutationCount = random.chance(0.05) ? 0 : 1 + random.below(random.chance(0.2) ? 6 : 2)
  for (let count = 0; count < mutationCount; count++) random.pick(mutations)(root, random)
  if (random.chance(0.001)) inflate(root, random)
  const text = toText(root.node)
  return random.chance(0.03) ? random.pick(textMutations)(text, random) : text
}

/** A JSON-RPC batch, as in protocol version 2025-03-26. */
export function toBatch(seeds: readonly unknown[], random: Random): string {
  const count = random.pick([0, 1, 2, 3, 5, 120])
  // Distinct ids: a repeated id can be answered only once.
  const messages = Array.from({ length: count }, (_, index) => {
    const seed = random.pick(seeds) as object
    return mutate('id' in seed ? { ...seed, id: index } : seed, random)
  })
  return `[${messages.join(',')}]`
}

interface Root {
  node: Node
}

/** A position in the tree whose value can be replaced. */
interface Slot {
  readonly value: Node
  set(value: Node): void
}

type Mutation = (root: Root, random: Random) => void

const replaceValue: Mutation = (root, random) => pickSlot(root, random)?.set(oddValue(random))

const changeType: Mutation = (root, random) => {
  const slot = pickSlot(root, random)
  if (!slot) return
  const { value } = slot
  slot.set(random.pick([[value], new Fields([['value', value]]), toText(value), null]))
}

const nudgeString: Mutation = (root, random) => {
  const slot = pickSlot(root, random, (value) => typeof value === 'string')
  if (!slot) return
  const text = slot.value as string
  const index = random.below(text.length + 1)
  slot.set(
    `${text.slice(0, index)}${random.pick(oddStrings)}${text.slice(index + random.below(3))}`,
  )
}

const nudgeNumber: Mutation = (root, random) =>
  pickSlot(root, random, (value) => typeof value === 'number')?.set(random.pick(oddNumbers))

const removeField: Mutation = (root, random) => {
  const fields = pickFields(root, random)
  fields?.entries.splice(random.below(fields.entries.length), 1)
}

const addField: Mutation = (root, random) => {
  const fields = pickFields(root, random)
  const index = random.below((fields?.entries.length ?? 0) + 1)
  fields?.entries.splice(index, 0, [random.pick(oddKeys), oddValue(random)])
}

/** Duplicate keys: parsers disagree about which value wins. */
const repeatField: Mutation = (root, random) => {
  const fields = pickFields(root, random)
  const entry = fields?.entries[random.below(fields.entries.length)]
  if (!fields || !entry) return
  fields.entries.push([entry[0], random.chance(0.5) ? entry[1] : oddValue(random)])
}

const respellField: Mutation = (root, random) => {
  const fields = pickFields(root, random)
  const entry = fields?.entries[random.below(fields.entries.length)]
  if (!entry || typeof entry[0] !== 'string') return
  entry[0] = random.pick(spellings)(entry[0])
}

const swapValues: Mutation = (root, random) => {
  const [firstSlot, secondSlot] = [pickSlot(root, random), pickSlot(root, random)]
  if (!firstSlot || !secondSlot) return
  const [first, second] = [toText(firstSlot.value), toText(secondSlot.value)]
  // Swapped as text: a node placed inside itself would be a cycle.
  firstSlot.set(new Raw(second))
  secondSlot.set(new Raw(first))
}

const nestDeeply: Mutation = (root, random) => {
  const depth = random.pick([5, 30, 58, 62, 63, 64, 65, 66, 70, 100, 400])
  pickSlot(root, random)?.set(
    new Raw(
      random.chance(0.5)
        ? `${'['.repeat(depth)}${']'.repeat(depth)}`
        : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    ),
  )
}

const widen: Mutation = (root, random) => {
  const width = random.pick([10, 100, 2000])
  pickSlot(root, random)?.set(Array.from({ length: width }, (_, index) => index))
}

/** Longer than the limit of template matching, shorter than the body limit. */
const inflate: Mutation = (root, random) =>
  pickSlot(root, random, (value) => typeof value === 'string')?.set('x'.repeat(1_100_000))

const renameMethod: Mutation = (root, random) => {
  const entry = fieldOf(root.node, 'method')
  if (entry) entry[1] = random.pick(oddMethods)
}

/** Mutates the `_meta` fields that decide protocol version, capabilities and progress token. */
const mutateMeta: Mutation = (root, random) => {
  const meta = fieldOf(fieldOf(root.node, 'params')?.[1], '_meta')?.[1]
  if (!(meta instanceof Fields)) return addField(root, random)
  const key = random.pick(metaKeys)
  const value = random.chance(0.5) ? oddValue(random) : toNode(random.pick(metaValues))
  const entry = fieldOf(meta, key)
  if (entry) entry[1] = value
  else meta.entries.push([key, value])
}

const addContinuation: Mutation = (root, random) => {
  const params = fieldOf(root.node, 'params')?.[1]
  if (!(params instanceof Fields)) return
  params.entries.push([random.pick(['requestState', 'inputResponses']), oddValue(random)])
}

const mutateId: Mutation = (root, random) => {
  const entry = fieldOf(root.node, 'id')
  if (entry) entry[1] = random.chance(0.7) ? random.pick(ids) : oddValue(random)
}

/** Weighted by repetition: mutations inside the arguments reach a handler most often. */
const mutations: readonly Mutation[] = [
  ...Array(6).fill(replaceValue),
  ...Array(3).fill(changeType),
  ...Array(4).fill(nudgeString),
  ...Array(3).fill(nudgeNumber),
  ...Array(2).fill(removeField),
  ...Array(5).fill(addField),
  ...Array(2).fill(repeatField),
  ...Array(1).fill(respellField),
  ...Array(1).fill(swapValues),
  ...Array(2).fill(nestDeeply),
  ...Array(1).fill(widen),
  ...Array(1).fill(renameMethod),
  ...Array(3).fill(mutateMeta),
  ...Array(2).fill(addContinuation),
  ...Array(2).fill(mutateId),
]

type TextMutation = (text: string, random: Random) => string

const textMutations: readonly TextMutation[] = [
  (text, random) => text.slice(0, random.below(text.length)),
  (text, random) => {
    const index = random.below(text.length)
    return `${text.slice(0, index)}${random.pick(['"', '}', ']', ',', '\\', '\0', '\ufeff'])}${text.slice(index + 1)}`
  },
  (text) => `\ufeff${text}`,
  (text) => `${text}${text}`,
  (text) => ` \t ${text} `,
  (text) => text.replaceAll('"', "'"),
  (_, random) =>
    random.pick(['', ' ', 'null', '42', '"text"', '[]', '{}', '[[]]', '[null]', 'NaN']),
]

function oddValue(random: Random): Node {
  const kind = random.below(10)
  if (kind < 3) return random.pick(oddNumbers)
  if (kind < 6) return random.pick(oddStrings)
  return toNode(random.pick(oddThings))
}

const raw = (text: string): Raw => new Raw(text)

const oddNumbers: readonly Node[] = [
  0,
  -0.5,
  1,
  -1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  raw('-0'),
  raw('1.0'),
  raw('1e3'),
  raw('1e308'),
  raw('1e999'),
  raw('-1e999'),
  raw('1e-999'),
  raw('9007199254740993'),
  raw('123456789012345678901234567890'),
  raw(`1${'0'.repeat(400)}`),
  raw('0.1000000000000000055511151231257827'),
]

const oddStrings: readonly string[] = [
  '',
  ' ',
  'a',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '%00%ff%zz',
  '{id}',
  '#{x}',
  '\u0000',
  '\n\r\n',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\ud800',
  '\udc00\ud800',
  'ſ',
  'é e\u0301',
  '👩‍👩‍👧‍👦',
  'ǅ İ ß',
  '=?base64?!!!?=',
  "'; DROP TABLE x; --",
  '<script>alert(1)</script>',
  'x'.repeat(300),
  'ü'.repeat(5000),
]

const oddThings: readonly unknown[] = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  { toString: 1, valueOf: 2 },
  JSON.parse('{"then":"x"}'),
  { length: -1 },
  { toJSON: null },
  JSON.parse('{"__proto__":{"polluted":true}}'),
  JSON.parse('{"__proto__":null}'),
  { constructor: { prototype: { polluted: true } } },
  { hasOwnProperty: 1, isPrototypeOf: 2 },
  { $ref: 'http://127.0.0.1:1/x' },
  { jsonrpc: '2.0', id: 1, method: 'tools/list' },
]

const oddKeys: readonly (string | Raw)[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'toJSON',
  'then',
  'length',
  '',
  '0',
  '-1',
  'id',
  'name',
  'uri',
  'cursor',
  'arguments',
  'params',
  'method',
  'result',
  'error',
  '_meta',
  'task',
  'jsonrpc',
  '$schema',
  'a/b~c',
  'ſ',
  '\u0000',
  '\ud800',
  'ü'.repeat(200),
  raw('"\\u005f\\u005fproto__"'),
]

const spellings: readonly ((key: string) => string)[] = [
  (key) => key.toUpperCase(),
  (key) => key.charAt(0).toUpperCase() + key.slice(1),
  (key) => key.replace('s', 'ſ').replace('k', 'K'),
  (key) => `${key} `,
  (key) => `${key}\u0000`,
  (key) => `\u200b${key}`,
]

const oddMethods: readonly Node[] = [
  '',
  'tools/call',
  'tools/list',
  'Tools/Call',
  'tools/call ',
  'tools//call',
  'tools/\u0000call',
  '__proto__',
  'constructor',
  'toString',
  'initialize',
  'ping',
  'server/discover',
  'sampling/createMessage',
  'tasks/get',
  'notifications/cancelled',
  'notifications/initialized',
  'rpc.discover',
  'x'.repeat(10_000),
  null,
  7,
]

const metaKeys = [
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/related-task',
  'progressToken',
  'traceparent',
  '__proto__',
  'dev.drawbridge/failure',
]

const metaValues: readonly unknown[] = [
  '2026-07-28',
  '2025-11-25',
  '2099-01-01',
  { name: 'x', version: '1', icons: [{ src: 'data:,' }], extra: { a: 1 } },
  { elicitation: {}, sampling: {}, roots: {} },
  { elicitation: null },
  { elicitation: { url: {} }, experimental: { a: {} } },
  { roots: null, sampling: 1 },
  'debug',
  'emergency',
  'loud',
  0,
  'token',
]

const ids: readonly Node[] = [
  0,
  -1,
  2 ** 53,
  '',
  'x',
  'x'.repeat(1000),
  '__proto__',
  '1',
  null,
  raw('1.5'),
  raw('1e999'),
  '\ud800',
]

function pickSlot(
  root: Root,
  random: Random,
  matches: (value: Node) => boolean = () => true,
): Slot | undefined {
  const candidates = slotsIn(pickScope(root, random)).filter(({ value }) => matches(value))
  return candidates.length === 0 ? undefined : random.pick(candidates)
}

function pickFields(root: Root, random: Random): Fields | undefined {
  const candidates = fieldsIn(pickScope(root, random))
  return candidates.length === 0 ? undefined : random.pick(candidates)
}

/** Prefers arguments, then parameters: a broken envelope is rejected before any handler. */
function pickScope(root: Root, random: Random): Node {
  const params = fieldOf(root.node, 'params')?.[1]
  const input = fieldOf(params, 'arguments')?.[1]
  if (input !== undefined && random.chance(0.7)) return input
  return params !== undefined && random.chance(0.6) ? params : root.node
}

function slotsIn(node: Node): Slot[] {
  if (Array.isArray(node))
    return node.flatMap((value, index) => [
      {
        value,
        set: (next: Node) => {
          node[index] = next
        },
      },
      ...slotsIn(value),
    ])
  if (!(node instanceof Fields)) return []
  return node.entries.flatMap((entry) => [
    {
      value: entry[1],
      set: (next: Node) => {
        entry[1] = next
      },
    },
    ...slotsIn(entry[1]),
  ])
}

function fieldsIn(node: Node): Fields[] {
  if (Array.isArray(node)) return node.flatMap(fieldsIn)
  if (!(node instanceof Fields)) return []
  return [node, ...node.entries.flatMap(([, value]) => fieldsIn(value))]
}

const fieldOf = (node: Node | undefined, key: string): [unknown, Node] | undefined =>
  node instanceof Fields ? node.entries.find(([name]) => name === key) : undefined
