import type { Field, RecordSource } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'
import type { Grant, GrantPackage, StreamTerms } from './grant.ts'

/**
 * A source as a grant shows it. Everything that reads takes one of these and nothing else, so there
 * is no way to name a field, a time or a connection that was not granted.
 */
export interface Scope {
  readonly source: RecordSource
  readonly grant: Grant['id']
  /** By name; what is not in here does not exist. */
  readonly fields: ReadonlyMap<string, Field>
  readonly window?: Window
  /** The only records there are, where the grant names them. */
  readonly keys?: readonly string[]
}

/** Milliseconds on one field, `from` inclusive and `to` exclusive. */
export interface Window {
  readonly field: Field
  readonly from: number
  readonly to: number
}

/** The one place where the terms of a grant become what may be read. */
export function toScopes(
  { grants }: GrantPackage,
  sources: readonly RecordSource[],
): readonly Scope[] {
  const byName = new Map(
    sources.map((source) => [`${source.connection.id}\n${source.stream.name}`, source]),
  )
  return grants
    .filter(({ revokedAt }) => revokedAt === undefined)
    .flatMap((grant) =>
      grant.streams.flatMap((terms) => {
        const source = byName.get(`${grant.connection}\n${terms.stream}`)
        return source ? [toScope(grant.id, terms, source)] : []
      }),
    )
}

function toScope(grant: string, terms: StreamTerms, source: RecordSource): Scope {
  const { fields, resources } = terms
  const granted = new Set(fields)
  const window = toWindow(terms, source)
  return {
    source,
    grant,
    fields: new Map(
      source.stream.fields
        .filter(({ name }) => granted.has(name))
        .map((field) => [field.name, field]),
    ),
    ...(window && { window }),
    ...(resources && { keys: resources }),
  }
}

function toWindow({ since, until }: StreamTerms, { stream }: RecordSource): Window | undefined {
  if (since === undefined && until === undefined) return undefined
  const field = stream.fields.find(({ name }) => name === stream.consentTimeField)
  // A range on a time that is not declared any more covers nothing.
  if (!field) return { field: nothing, from: 1, to: 0 }
  return {
    field,
    from: since === undefined ? -Infinity : toBound(field, since),
    to: until === undefined ? Infinity : toBound(field, until),
  }
}

const toBound = (field: Field, time: string): number =>
  Number(toComparable({ ...field, type: 'date-time' }, time) ?? Number.NaN)

const nothing: Field = {
  n: 0,
  name: '',
  type: 'date-time',
  schema: {},
  range: [],
  lexical: false,
  aggregates: [],
}
