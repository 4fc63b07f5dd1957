import { SetupError } from '../../capability/setup-error.ts'
import { isRecordsPath } from '../../http/records/records-path.ts'
import { isIntents, type PlacedIntents } from '../intents/intent-routing.ts'
import type { OpenedSource } from '../placed-source.ts'

/** Throws when two sources claim the same path or subject. */
export function checkPlacement(sources: readonly OpenedSource[]): void {
  const addresses = new Set(['/mcp', '/health', '/approvals', ...sources.map(({ mount }) => mount)])
  for (const { source } of sources.filter(isIntents))
    for (const address of [source.frameReceiver?.path, source.subject]) {
      if (address === undefined) continue
      if (addresses.has(address))
        throw new SetupError(
          `${source.id} cannot be served at ${address}: the address is already in use. Choose another.`,
        )
      addresses.add(address)
    }
  const reserved = sources.some(({ gate }) => gate) && [...addresses].find(isRecordsPath)
  if (reserved)
    throw new SetupError(`The path ${reserved} is reserved for the records API. Choose another.`)
  checkExclusive(sources)
}

/** Readers of records must see nothing else, and callers of other sources no records. */
function checkExclusive(sources: readonly OpenedSource[]): void {
  const conflict = sources.find(
    ({ isExclusive, mount }) =>
      isExclusive && sources.filter((one) => one.mount === mount).length > 1,
  )
  if (conflict)
    throw new SetupError(
      `${conflict.source.id} shares ${conflict.mount} with another source. Give it a mount of its own, such as mount: /mcp/records.`,
    )
}

/** A source that other machines can reach must authenticate its callers. */
export function checkPublic(sources: readonly PlacedIntents[], hasTokens: boolean): void {
  const exposed = sources.find(({ source }) => source.isPublic && !hasTokens)
  if (exposed)
    throw new SetupError(
      `${exposed.source.id} is served by a NATS server on another machine, and callers would not have to authenticate. Configure http.tokens ("drawbridge token" creates one).`,
    )
}
