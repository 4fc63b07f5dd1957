import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isScalar, type RecordSource, type Stream } from '../../sources/records/model/stream.ts'
import { toComparable } from '../../sources/records/model/to-comparable.ts'
import type { RecordWriter } from '../../storage/records/writing/record-writer.ts'

/** Declares a stream, and says what of it the records that are there already do not fit. */
export function redeclareStreams(
  writer: RecordWriter,
  stream: Stream,
  file: string,
): readonly Diagnostic[] {
  const former = writer.streams.find((one) => isSame(one, stream))
  writer.declare(stream)
  const sources = writer.sources.filter((one) => isSame(one.stream, stream))
  if (!former || !sources.some((one) => writer.count(one) > 0)) return []
  const warn = (code: string, place: string, message: string): Diagnostic => ({
    code,
    severity: 'warning',
    message,
    source: file,
    pointer: `/streams/${stream.name}/${place}`,
  })
  const records = new Records(writer, sources)
  return [
    ...tellOfConsent(former, stream, records).map((message) =>
      warn('consent_time_changed', 'consent_time_field', message),
    ),
    ...tellOfTypes(former, stream, records).map(([name, message]) =>
      warn('type_changed', `schema/properties/${name}`, message),
    ),
    ...tellOfMissing(former, stream).map(([name, message]) =>
      warn('field_removed', `schema/properties/${name}`, message),
    ),
  ]
}

const isSame = (one: Stream, other: Stream): boolean =>
  one.name === other.name && one.connector === other.connector

/** What is there, looked at only when there is a reason to. */
class Records {
  readonly #writer: RecordWriter
  readonly #sources: readonly RecordSource[]

  constructor(writer: RecordWriter, sources: readonly RecordSource[]) {
    this.#writer = writer
    this.#sources = sources
  }

  /** "3 of 4 records" for which something is so; nothing where it is so for none. */
  tally(is: (data: Readonly<Record<string, unknown>>) => boolean): string | undefined {
    let [found, all] = [0, 0]
    for (const source of this.#sources)
      for (const { body } of this.#writer.export(source)) {
        all += 1
        if (is(JSON.parse(body))) found += 1
      }
    return found === 0 ? undefined : `${found} of ${all} records`
  }
}

function tellOfConsent(former: Stream, present: Stream, records: Records): readonly string[] {
  const [before, now] = [former.consentTimeField, present.consentTimeField]
  if (before === now || before === undefined) return []
  const field = present.fields.find(({ name }) => name === now)
  if (!field)
    return ['Grants with a time range show nothing of it any more: it declares no time for them.']
  const timeless = records.tally((data) => toComparable(field, data[field.name]) === undefined)
  return [
    `The time ranges of grants that were given for ${before} are about ${field.name} from now on.${timeless === undefined ? '' : ` ${timeless} have no time there, and are in no range.`}`,
  ]
}

function tellOfTypes(
  former: Stream,
  present: Stream,
  records: Records,
): readonly (readonly [string, string])[] {
  return present.fields.flatMap((field) => {
    const before = former.fields.find(({ name }) => name === field.name)
    if (!before || before.type === field.type || !isScalar(field)) return []
    const misfits = records.tally((data) => {
      const value = data[field.name] ?? undefined
      return value !== undefined && toComparable(field, value) === undefined
    })
    if (misfits === undefined) return []
    const message = `It was declared as ${before.type}, and is ${field.type} now. ${misfits} have another value there: it is shown, but no filter, order or sum finds it.`
    return [[field.name, message]]
  })
}

const tellOfMissing = (former: Stream, present: Stream): readonly (readonly [string, string])[] =>
  former.fields
    .filter((field) => !present.fields.some(({ name }) => name === field.name))
    .map(({ name }) => [
      name,
      'It is declared no more: what records have there is kept, and shown to nobody.',
    ])
