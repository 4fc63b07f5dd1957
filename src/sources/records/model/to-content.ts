import type { Data } from './record-data.ts'
import { type Comparable, type Field, isScalar, type Stream } from './stream.ts'
import { toComparable } from './to-comparable.ts'
import { toIndexText } from './words.ts'

/** A record in the form that a store writes. */
export interface RecordContent {
  /** The record as JSON text. */
  readonly body: string
  /** Comparable values of the scalar fields, in the order of the stream's fields. */
  readonly values: readonly (Comparable | null)[]
  /** Index text of the searchable fields, in the order of the stream's fields. */
  readonly texts: readonly string[]
  /** Fields whose value does not have the declared type: stored, but not comparable. */
  readonly mismatches?: readonly string[]
}

/** Extracts the values and texts that a stream declares from a record, whose JSON text is `body`. */
export function toContent(stream: Stream, data: Data, body: string): RecordContent {
  const { scalar, lexical } = groupFields(stream)
  const mismatches: string[] = []
  const values = scalar.map((field) => {
    const value = data[field.name]
    if (value === undefined || value === null) return null
    const comparable = toComparable(field, value)
    if (comparable === undefined) mismatches.push(field.name)
    return comparable ?? null
  })
  const texts = lexical.map(({ name }) => toIndexText(data[name]))
  return mismatches.length === 0 ? { body, values, texts } : { body, values, texts, mismatches }
}

interface FieldGroups {
  readonly scalar: readonly Field[]
  readonly lexical: readonly Field[]
}

/** Cached by stream: imports ask once for each record. */
const cache = new WeakMap<Stream, FieldGroups>()

function groupFields(stream: Stream): FieldGroups {
  const cached = cache.get(stream)
  if (cached) return cached
  const groups = {
    scalar: stream.fields.filter(isScalar),
    lexical: stream.fields.filter(({ lexical }) => lexical),
  }
  cache.set(stream, groups)
  return groups
}
