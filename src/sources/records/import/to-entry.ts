import { isPlainObject } from '../../../capability/json.ts'
import { type Comparable, type Field, isScalar, type Stream } from '../model/stream.ts'
import { toComparable, toMilliseconds } from '../model/to-comparable.ts'
import { toIndexText } from '../model/words.ts'

/** A validated record, ready to be written. */
export interface RecordEntry {
  readonly key: string
  readonly emittedAt: string
  /** `undefined` for a deletion. */
  readonly written?: {
    readonly body: string
    /** Comparable values of the scalar fields, in the order of the stream's fields. */
    readonly values: readonly (Comparable | null)[]
    /** Index text of the searchable fields, in the order of the stream's fields. */
    readonly texts: readonly string[]
  }
  /** Fields whose value does not have the declared type: stored, but not comparable. */
  readonly mismatches?: readonly string[]
}

/** Validates one line of an import. */
export function toRecordEntry(stream: Stream, line: unknown, now: string): RecordEntry | string {
  if (!isPlainObject(line)) return 'not a JSON object'
  const isEnvelope = line.object === 'record' && ('data' in line || line.deleted === true)
  const emittedAt = isEnvelope && typeof line.emitted_at === 'string' ? line.emitted_at : now
  if (emittedAt !== now && toMilliseconds(emittedAt) === undefined)
    return 'emitted_at must be a time such as 2026-01-31T12:00:00Z'
  if (isEnvelope && line.deleted === true) {
    if (typeof line.id !== 'string') return 'the deletion has no id'
    return invalidInId.test(line.id) ? `id ${invalidIdMessage}` : { key: line.id, emittedAt }
  }
  const data = isEnvelope ? line.data : line
  if (!isPlainObject(data)) return 'data is not a JSON object'
  const key = toKey(stream, data)
  if (key === undefined) return `primary key ${stream.primaryKey.join(', ')} is missing`
  // A stream without a primary key is being rebuilt from stored, already validated records.
  const fault = stream.primaryKey.length > 0 ? findFault(stream, key, data) : undefined
  if (fault !== undefined) return fault
  const body = toBody(data)
  if (body === undefined) return 'the record is nested too deeply'
  const groups = groupFields(stream)
  const mismatches: string[] = []
  const values = groups.scalar.map((field) => {
    const value = data[field.name]
    if (value === undefined || value === null) return null
    const comparable = toComparable(field, value)
    if (comparable === undefined) mismatches.push(field.name)
    return comparable ?? null
  })
  const texts = groups.lexical.map(({ name }) => toIndexText(data[name]))
  const written = { body, values, texts }
  return { key, emittedAt, written, ...(mismatches.length > 0 && { mismatches }) }
}

/** Unpaired surrogates and NUL are altered or truncated in storage: two such ids could become one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is one of them
const invalidInId = /\u0000|\p{Surrogate}/u
const invalidIdMessage = 'contains a NUL character or an unpaired surrogate'

/** Finds values that storage would alter silently. */
function findFault(
  stream: Stream,
  key: string,
  data: Readonly<Record<string, unknown>>,
): string | undefined {
  if (invalidInId.test(key)) return `${stream.primaryKey.join(', ')} ${invalidIdMessage}`
  for (const { name } of groupFields(stream).text) {
    const value = data[name]
    if (typeof value === 'string' && value.includes('\0'))
      return `${name} contains a NUL character (\\u0000), which would truncate it in the database`
  }
  for (const name in data) {
    const fault = findInexact(data[name])
    if (fault !== undefined) return `${name} ${fault}`
  }
  return undefined
}

/** Finds a number that parsing may have rounded. Iterative, because the value may be deeply nested. */
function findInexact(value: unknown): string | undefined {
  if (typeof value === 'number') return isExactNumber(value) ? undefined : toInexact(value)
  if (typeof value !== 'object' || value === null) return undefined
  const pending = Object.values(value)
  while (pending.length > 0) {
    const part = pending.pop()
    if (typeof part === 'number' && !isExactNumber(part)) return toInexact(part)
    if (typeof part === 'object' && part !== null)
      for (const one of Object.values(part)) pending.push(one)
  }
  return undefined
}

/** `false` for integers beyond 2^53 and for infinities, which parsing may have rounded. */
export const isExactNumber = (number: number): boolean =>
  Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number))

const toInexact = (number: number): string =>
  Number.isFinite(number)
    ? 'has an integer too large to be stored exactly: write it as a string'
    : 'has a number too large to be stored: write it as a string'

function toBody(data: object): string | undefined {
  try {
    return JSON.stringify(data)
  } catch {
    // Parsed JSON can always be serialized, unless the recursion overflows the stack.
    return undefined
  }
}

interface FieldGroups {
  readonly scalar: readonly Field[]
  readonly text: readonly Field[]
  readonly lexical: readonly Field[]
}

const cache = new WeakMap<Stream, FieldGroups>()

function groupFields(stream: Stream): FieldGroups {
  const groups = cache.get(stream) ?? {
    scalar: stream.fields.filter(isScalar),
    text: stream.fields.filter(({ type }) => type === 'string'),
    lexical: stream.fields.filter(({ lexical }) => lexical),
  }
  cache.set(stream, groups)
  return groups
}

/** A single key as is; a composite key as a JSON array. */
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
