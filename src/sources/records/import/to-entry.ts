import { isPlainObject } from '../../../capability/json.ts'
import { type Comparable, type Field, isScalar, type Stream } from '../model/stream.ts'
import { toComparable, toMilliseconds } from '../model/to-comparable.ts'
import { toWords } from '../search/words.ts'

/** A record ready to be written: nothing about it is left to decide. */
export interface RecordEntry {
  readonly key: string
  readonly emittedAt: string
  /** `undefined` is a record that is gone. */
  readonly written?: {
    readonly body: string
    /** By field number; of scalar fields alone. */
    readonly values: readonly (Comparable | null)[]
    /** Of searchable fields, their words; in the order of the stream's fields. */
    readonly texts: readonly string[]
  }
  /** Fields whose value is not of the type that is declared: it is kept, but not compared. */
  readonly misfits?: readonly string[]
}

/** From one line of an import to what is written, or why it cannot be. */
export function toRecordEntry(stream: Stream, line: unknown, now: string): RecordEntry | string {
  if (!isPlainObject(line)) return 'it is no JSON object'
  const enveloped = line.object === 'record' && ('data' in line || line.deleted === true)
  const emittedAt = enveloped && typeof line.emitted_at === 'string' ? line.emitted_at : now
  if (emittedAt !== now && toMilliseconds(emittedAt) === undefined)
    return 'its emitted_at is no time such as 2026-01-31T12:00:00Z'
  if (enveloped && line.deleted === true) {
    if (typeof line.id !== 'string') return 'it is deleted, and does not say which it was'
    return unkept.test(line.id) ? `its id ${unkeptWords}` : { key: line.id, emittedAt }
  }
  const data = enveloped ? line.data : line
  if (!isPlainObject(data)) return 'its data is no JSON object'
  const key = toKey(stream, data)
  if (key === undefined) return `${stream.primaryKey.join(', ')} is missing, and says which it is`
  // What is kept already has its key, and is not looked at again.
  const fault = stream.primaryKey.length > 0 ? findFault(stream, key, data) : undefined
  if (fault !== undefined) return fault
  const body = toBody(data)
  if (body === undefined) return 'it is nested too deeply'
  const kept = toKept(stream)
  const misfits: string[] = []
  const values = kept.scalar.map((field) => {
    const value = data[field.name]
    if (value === undefined || value === null) return null
    const comparable = toComparable(field, value)
    if (comparable === undefined) misfits.push(field.name)
    return comparable ?? null
  })
  const texts = kept.lexical.map(({ name }) => toWords(data[name]))
  const written = { body, values, texts }
  return { key, emittedAt, written, ...(misfits.length > 0 && { misfits }) }
}

/** Half a character, and what ends a text for some: two such ids would become one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly that
const unkept = /\u0000|\p{Surrogate}/u
const unkeptWords = 'holds a character that no id can have'

/** What would become something else without a word, were it written. */
function findFault(
  stream: Stream,
  key: string,
  data: Readonly<Record<string, unknown>>,
): string | undefined {
  if (unkept.test(key)) return `${stream.primaryKey.join(', ')} ${unkeptWords}`
  for (const { name } of toKept(stream).text) {
    const value = data[name]
    if (typeof value === 'string' && value.includes('\0'))
      return `${name} holds a NUL character (\\u0000), where a text ends for a database`
  }
  for (const name in data) {
    const fault = findInexact(data[name])
    if (fault !== undefined) return `${name} ${fault}`
  }
  return undefined
}

/** A number that was rounded when it was read, or may have been. Not by recursion: it may be deep. */
function findInexact(value: unknown): string | undefined {
  if (typeof value === 'number') return isExactNumber(value) ? undefined : toInexact(value)
  if (typeof value !== 'object' || value === null) return undefined
  const left = Object.values(value)
  while (left.length > 0) {
    const part = left.pop()
    if (typeof part === 'number' && !isExactNumber(part)) return toInexact(part)
    if (typeof part === 'object' && part !== null)
      for (const one of Object.values(part)) left.push(one)
  }
  return undefined
}

/** Whether it is the number that was written, for all we know. */
export const isExactNumber = (number: number): boolean =>
  Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number))

const toInexact = (number: number): string =>
  Number.isFinite(number)
    ? 'has an integer too long to be kept exactly: write it as text'
    : 'has a number too large to be kept: write it as text'

function toBody(data: object): string | undefined {
  try {
    return JSON.stringify(data)
  } catch {
    // What was read as JSON can be written as JSON, if there is room for it on the stack.
    return undefined
  }
}

interface Kept {
  readonly scalar: readonly Field[]
  readonly text: readonly Field[]
  readonly lexical: readonly Field[]
}

const known = new WeakMap<Stream, Kept>()

function toKept(stream: Stream): Kept {
  const kept = known.get(stream) ?? {
    scalar: stream.fields.filter(isScalar),
    text: stream.fields.filter(({ type }) => type === 'string'),
    lexical: stream.fields.filter(({ lexical }) => lexical),
  }
  known.set(stream, kept)
  return kept
}

/** The value itself, or a JSON array of several. */
function toKey(
  { primaryKey }: Stream,
  data: Readonly<Record<string, unknown>>,
): string | undefined {
  const parts = primaryKey.map((name) => data[name])
  if (
    parts.length > 0 &&
    !parts.every((part) => typeof part === 'string' || typeof part === 'number')
  )
    return undefined
  const [only, ...others] = parts.map(String)
  return others.length === 0 ? (only ?? '') : JSON.stringify([only, ...others])
}
