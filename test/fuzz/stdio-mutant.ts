import { mutate, toBatch } from './mutate.ts'
import { createRandom, type Random } from './random.ts'

export interface LineOptions {
  readonly seed: number
  readonly index: number
  readonly messages: readonly object[]
}

/** The bytes of one line with its line ending, determined by seed and index. */
export function toStdioMutant({ seed, index, messages }: LineOptions): Buffer {
  const random = createRandom(seed + Math.imul(index, 0x9e3779b1))
  const message = random.pick(messages)
  // The index is the id, so that an answer can be traced to its mutant.
  const messageWithId = 'method' in message && 'id' in message ? { ...message, id: index } : message
  const text = random.chance(0.02) ? toBatch(messages, random) : mutate(messageWithId, random)
  const line = Buffer.from(text)
  const mutatedLine = random.chance(0.05) ? random.pick(lineMutations)(line, random) : line
  return Buffer.concat([mutatedLine, random.pick(lineEndings)])
}

type LineMutation = (line: Buffer, random: Random) => Buffer

const lineMutations: readonly LineMutation[] = [
  (line, random) => insert(line, random, [0xff, 0xfe]),
  (line, random) => insert(line, random, [0xc0, 0x80]),
  (line, random) => insert(line, random, [0xed, 0xa0, 0x80]),
  (line, random) => insert(line, random, [0xf0, 0x9f]),
  (line, random) => insert(line, random, [0x00]),
  (line, random) => insert(line, random, [0x0d]),
  (line, random) => insert(line, random, [0x0a]),
  (line, random) => line.subarray(0, random.below(line.length + 1)),
  (line, random) => Buffer.from(line.map((byte) => (random.chance(0.02) ? byte ^ 0x80 : byte))),
  () => Buffer.alloc(0),
  () => Buffer.from('Content-Length: 12\r\n\r\n'),
  () => Buffer.alloc(64),
]

const lineEndings = [...Array(6).fill('\n'), '\r\n', '\n\n', '\r\r\n', '\n \n'].map((end) =>
  Buffer.from(end),
)

function insert(line: Buffer, random: Random, bytes: readonly number[]): Buffer {
  const offset = random.below(line.length + 1)
  return Buffer.concat([line.subarray(0, offset), Buffer.from(bytes), line.subarray(offset)])
}
