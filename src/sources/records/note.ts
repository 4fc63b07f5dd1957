import type { Field } from './model.ts'
import type { Reader } from './reader.ts'
import type { Scope } from './scope.ts'

export interface Noted {
  readonly tool: string
  readonly fields: readonly Field[]
  /** Keys of the records that were given out. */
  readonly records: readonly string[]
}

/** Writes down for the owner what was given out under the grant. */
export const note = (reader: Reader, scope: Scope, { tool, fields, records }: Noted): void =>
  reader.store.disclose({
    package: reader.package.id,
    grant: scope.grant,
    tool,
    connection: scope.source.connection.id,
    stream: scope.source.stream.name,
    fields: fields.map(({ name }) => name),
    records,
  })
