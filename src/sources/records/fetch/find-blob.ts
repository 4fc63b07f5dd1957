import type { Failed } from '../../../capability/outcome.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { cannotRead } from '../failures.ts'
import { parseBody } from '../model/record-data.ts'
import type { Scope } from '../model/scope.ts'
import { ambiguousConnection, unknownConnection } from '../reading/find-scope.ts'
import type { Reader } from '../reading/reader.ts'
import type { StoredBlob } from '../record-store.ts'

export const blobField = 'blob_ref'

export interface GrantedBlob {
  readonly scope: Scope
  readonly key: string
  readonly blob: StoredBlob
}

/** A blob is readable only through a readable record whose granted `blob_ref` refers to it. */
export function findBlob(
  reader: Reader,
  id: string,
  connection: string | undefined,
): GrantedBlob | Failed {
  if (
    connection !== undefined &&
    !reader.scopes.some(({ source }) => source.connection.id === connection)
  )
    return unknownConnection(reader)
  const references = reader.store.bindings(id).flatMap(({ source, key }) =>
    reader.scopes
      .filter(
        (scope) =>
          scope.source.n === source &&
          scope.fields.has(blobField) &&
          (connection ?? scope.source.connection.id) === scope.source.connection.id,
      )
      .filter((scope) => refersTo(reader, scope, key, id))
      .map((scope) => ({ scope, key })),
  )
  const [reference] = references
  const connections = new Set(references.map(({ scope }) => scope.source.connection.id))
  if (connections.size > 1) return ambiguousConnection(references.map(({ scope }) => scope))
  const blob = reference && reader.store.blob(id)
  return blob ? { ...reference, blob } : cannotRead('blob_not_found', 'Blob not found.')
}

function refersTo(reader: Reader, scope: Scope, key: string, id: string): boolean {
  const row = reader.store.find(scope, key)
  const data: unknown = row && parseBody(row.body)
  const reference = isPlainObject(data) ? data[blobField] : undefined
  return isPlainObject(reference) && reference.blob_id === id
}
