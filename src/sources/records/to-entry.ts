import { isPlainObject } from '../../capability/json.ts'
import { type Comparable, type Field, isScalar, type Stream } from './model.ts'
import { toComparable } from './to-comparable.ts'
import { toWords } from './words.ts'

/** A record ready to be written: nothing about it is left to decide. */
export interface Entry {
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
}

/** From one line of an import to what is written, or why it cannot be. */
export function toEntry(stream: Stream, line: unknown, now: string): Entry | string {
  if (!isPlainObject(line)) return 'it is no JSON object'
  const enveloped = line.object === 'record' && ('data' in line || line.deleted === true)
  const emittedAt = enveloped && typeof line.emitted_at === 'string' ? line.emitted_at : now
  if (enveloped && line.deleted === true)
    return typeof line.id === 'string'
      ? { key: line.id, emittedAt }
      : 'it is deleted, and does not say which it was'
  const data = enveloped ? line.data : line
  if (!isPlainObject(data)) return 'its data is no JSON object'
  const key = toKey(stream, data)
  const kept = toKept(stream)
  if (key === undefined) return `${stream.primaryKey.join(', ')} is missing, and says which it is`
  if (stream.primaryKey.length > 0 && unkept.test(key))
    return `${stream.primaryKey.join(', ')} holds a character that no id can have`
  const body = toBody(data)
  if (body === undefined) return 'it is nested too deeply'
  // What is kept already has its key, and is not looked at again.
  const inexact = stream.primaryKey.length > 0 ? findInexact(body, data) : undefined
  if (inexact !== undefined)
    return `${inexact} has an integer too long to be kept exactly: write it as text`
  return {
    key,
    emittedAt,
    written: {
      body,
      values: kept.scalar.map((field) => toComparable(field, data[field.name]) ?? null),
      texts: kept.lexical.map(({ name }) => toWords(data[name])),
    },
  }
}

/** Half a character, and what ends a text for some: two such ids would become one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly that
const unkept = /\u0000|\p{Surrogate}/u

function toBody(data: object): string | undefined {
  try {
    return JSON.stringify(data)
  } catch {
    // What was read as JSON can be written as JSON, if there is room for it on the stack.
    return undefined
  }
}

const mayBeInexact = /\d{16}|\de\+/

/** The field with an integer that was rounded when it was read, or may have been. */
function findInexact(body: string, data: Readonly<Record<string, unknown>>): string | undefined {
  if (!mayBeInexact.test(body)) return undefined
  const left = Object.entries(data)
  for (let next = left.pop(); next; next = left.pop()) {
    const [name, value] = next
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) return name
    if (typeof value === 'object' && value !== null)
      for (const part of Object.values(value)) left.push([name, part])
  }
  return undefined
}

interface Kept {
  readonly scalar: readonly Field[]
  readonly lexical: readonly Field[]
}

const known = new WeakMap<Stream, Kept>()

function toKept(stream: Stream): Kept {
  const kept = known.get(stream) ?? {
    scalar: stream.fields.filter(isScalar),
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
