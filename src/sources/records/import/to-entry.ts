import type { Fault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Field, Stream } from '../model/stream.ts'
import { toMilliseconds } from '../model/to-comparable.ts'
import { toContent } from '../model/to-content.ts'
import type { RecordEntry } from '../record-sink.ts'

/** Validates one line of an import. */
export function toRecordEntry(stream: Stream, line: unknown, now: string): RecordEntry | Fault {
  if (!isPlainObject(line)) return { fault: 'not a JSON object' }
  const isEnvelope = line.object === 'record' && ('data' in line || line.deleted === true)
  const emittedAt = isEnvelope && typeof line.emitted_at === 'string' ? line.emitted_at : now
  if (emittedAt !== now && toMilliseconds(emittedAt) === undefined)
    return { fault: 'emitted_at must be a time such as 2026-01-31T12:00:00Z' }
  if (isEnvelope && line.deleted === true) {
    if (typeof line.id !== 'string') return { fault: 'the deletion has no id' }
    if (invalidInId.test(line.id)) return { fault: `id ${invalidIdMessage}` }
    return { key: line.id, emittedAt }
  }
  const data = isEnvelope ? line.data : line
  if (!isPlainObject(data)) return { fault: 'data is not a JSON object' }
  const key = toKey(stream, data)
  if (key === undefined) return { fault: `primary key ${stream.primaryKey.join(', ')} is missing` }
  const fault = findFault(stream, key, data)
  if (fault !== undefined) return { fault }
  const body = toBody(data)
  if (body === undefined) return { fault: 'the record is nested too deeply' }
  return { key, emittedAt, content: toContent(stream, data, body) }
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
  for (const { name } of listTextFields(stream)) {
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

/** Cached by stream: imports ask once for each record. */
const textFields = new WeakMap<Stream, readonly Field[]>()

function listTextFields(stream: Stream): readonly Field[] {
  const cached = textFields.get(stream)
  if (cached) return cached
  const fields = stream.fields.filter(({ type }) => type === 'string')
  textFields.set(stream, fields)
  return fields
}

/** A single key as is; a composite key as a JSON array. */
function toKey(
  { primaryKey }: Stream,
  data: Readonly<Record<string, unknown>>,
): string | undefined {
  const parts = primaryKey.map((name) => data[name])
  if (!parts.every((part) => typeof part === 'string' || typeof part === 'number')) return undefined
  const [only, ...others] = parts.map(String)
  return others.length === 0 ? (only ?? '') : JSON.stringify([only, ...others])
}
