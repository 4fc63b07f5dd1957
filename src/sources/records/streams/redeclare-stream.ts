import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isScalar, type RecordSource, type Stream } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'

/** The owner's view of a store, as far as declarations need it. */
export interface StreamStore {
  readonly streams: readonly Stream[]
  readonly sources: readonly RecordSource[]
  declare(stream: Stream): void
  count(source: RecordSource): number
  export(source: RecordSource): Iterable<{ readonly body: string }>
}

/** Declares a stream, and warns about records in the store that do not fit the new declaration. */
export function redeclareStream(
  store: StreamStore,
  stream: Stream,
  file: string,
): readonly Diagnostic[] {
  const former = store.streams.find((one) => isSame(one, stream))
  store.declare(stream)
  const sources = store.sources.filter((one) => isSame(one.stream, stream))
  if (!former || !sources.some((one) => store.count(one) > 0)) return []
  const warn = (code: string, field: string, message: string): Diagnostic => ({
    code,
    severity: 'warning',
    message,
    source: file,
    pointer: `/streams/${stream.name}/${field}`,
  })
  const countRecords: CountRecords = (matches) => countMatches(store, sources, matches)
  return [
    ...findConsentChanges(former, stream, countRecords).map((message) =>
      warn('consent_time_changed', 'consent_time_field', message),
    ),
    ...findTypeChanges(former, stream, countRecords).map(([name, message]) =>
      warn('type_changed', `schema/properties/${name}`, message),
    ),
    ...findRemovedFields(former, stream).map(([name, message]) =>
      warn('field_removed', `schema/properties/${name}`, message),
    ),
  ]
}

const isSame = (one: Stream, other: Stream): boolean =>
  one.name === other.name && one.connector === other.connector

type Matches = (data: Readonly<Record<string, unknown>>) => boolean

/** "3 of 4 records" match; `undefined` when none does. Scans all records, so call it only on a change. */
type CountRecords = (matches: Matches) => string | undefined

function countMatches(
  store: StreamStore,
  sources: readonly RecordSource[],
  matches: Matches,
): string | undefined {
  let [matchCount, total] = [0, 0]
  for (const source of sources)
    for (const { body } of store.export(source)) {
      total += 1
      if (matches(JSON.parse(body))) matchCount += 1
    }
  return matchCount === 0 ? undefined : `${matchCount} of ${total} records`
}

function findConsentChanges(
  former: Stream,
  present: Stream,
  countRecords: CountRecords,
): readonly string[] {
  const { consentTimeField: formerName } = former
  const { consentTimeField: presentName } = present
  if (formerName === presentName || formerName === undefined) return []
  const field = present.fields.find(({ name }) => name === presentName)
  if (!field)
    return [
      'The stream no longer declares a consent_time_field: grants with a time range show none of its records.',
    ]
  const withoutTime = countRecords((data) => toComparable(field, data[field.name]) === undefined)
  return [
    `Grants with a time range on ${formerName} now apply it to ${field.name}.${withoutTime === undefined ? '' : ` ${withoutTime} have no time in that field, and are in no time range.`}`,
  ]
}

function findTypeChanges(
  former: Stream,
  present: Stream,
  countRecords: CountRecords,
): readonly (readonly [string, string])[] {
  return present.fields.flatMap((field) => {
    const formerField = former.fields.find(({ name }) => name === field.name)
    if (!formerField || formerField.type === field.type || !isScalar(field)) return []
    const mismatches = countRecords((data) => {
      const value = data[field.name] ?? undefined
      return value !== undefined && toComparable(field, value) === undefined
    })
    if (mismatches === undefined) return []
    const message = `The type changed from ${formerField.type} to ${field.type}. ${mismatches} have a value of another type: it is shown, but filters, sorting and sums ignore it.`
    return [[field.name, message]]
  })
}

const findRemovedFields = (
  former: Stream,
  present: Stream,
): readonly (readonly [string, string])[] =>
  former.fields
    .filter((field) => !present.fields.some(({ name }) => name === field.name))
    .map(({ name }) => [
      name,
      'The field is no longer declared: its values are kept, but no reader sees them.',
    ])
