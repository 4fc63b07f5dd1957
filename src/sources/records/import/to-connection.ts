import { SetupError } from '../../../capability/setup-error.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { Connection, RecordSource } from '../model/stream.ts'

/** The connection to import into. One with this id that exists must have the same connector. */
export function toConnection(
  sources: readonly RecordSource[],
  { id, connector, label }: { id: string; connector: string; label: string | undefined },
): Connection {
  const existing = sources.find(({ connection }) => connection.id === id)?.connection
  if (existing && existing.connector !== connector)
    throw new SetupError(
      `${id} is a connection of ${existing.connector}, but this stream belongs to ${connector}. Use another --connection.`,
    )
  return dropUndefined({ id, connector, label })
}
