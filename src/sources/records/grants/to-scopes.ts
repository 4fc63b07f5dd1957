import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { GrantPackage, StreamTerms } from '../model/grant.ts'
import type { Scope, Window } from '../model/scope.ts'
import type { Field, RecordSource } from '../model/stream.ts'
import { toComparable } from '../model/to-comparable.ts'

/** Turns the terms of a grant package into scopes. No other code does. */
export function toScopes(
  { grants }: GrantPackage,
  sources: readonly RecordSource[],
  idKey?: Uint8Array,
): readonly Scope[] {
  const byName = new Map(
    sources.map((source) => [`${source.connection.id}\n${source.stream.name}`, source]),
  )
  return grants
    .filter(({ revokedAt }) => revokedAt === undefined)
    .flatMap((grant) =>
      grant.streams.flatMap((terms) => {
        const source = byName.get(`${grant.connection}\n${terms.stream}`)
        return source ? [toScope(grant.id, terms, source, idKey)] : []
      }),
    )
}

function toScope(
  grant: string,
  terms: StreamTerms,
  source: RecordSource,
  idKey: Uint8Array | undefined,
): Scope {
  const { fields, resources } = terms
  const grantedFields = new Set(fields)
  return dropUndefined({
    source,
    grant,
    fields: new Map(
      source.stream.fields
        .filter(({ name }) => grantedFields.has(name))
        .map((field) => [field.name, field]),
    ),
    window: toWindow(terms, source),
    keys: resources,
    idKey: source.stream.primaryKey.every((name) => grantedFields.has(name)) ? undefined : idKey,
  })
}

function toWindow({ since, until }: StreamTerms, { stream }: RecordSource): Window | undefined {
  if (since === undefined && until === undefined) return undefined
  const field = stream.fields.find(({ name }) => name === stream.consentTimeField)
  // Fail closed: a range on a consent time field that is no longer declared matches nothing.
  if (!field) return { field: noField, from: 1, to: 0 }
  return {
    field,
    from: since === undefined ? -Infinity : toBound(field, since),
    to: until === undefined ? Infinity : toBound(field, until),
  }
}

const toBound = (field: Field, time: string): number =>
  Number(toComparable({ ...field, type: 'date-time' }, time) ?? Number.NaN)

const noField: Field = {
  n: 0,
  name: '',
  type: 'date-time',
  schema: {},
  range: [],
  lexical: false,
  aggregates: [],
}
