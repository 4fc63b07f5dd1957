import { SetupError } from '../../capability/setup-error.ts'
import { isRecordsPath } from '../../http/records/records-routes.ts'
import { isIntents, type PlacedIntents } from '../intent-routing.ts'
import type { PlacedSource } from '../open-sources.ts'

/** Throws when two sources claim the same path or subject. */
export function checkPlacement(placed: readonly PlacedSource[]): void {
  const claimed = new Set(['/mcp', '/health', '/approvals', ...placed.map(({ mount }) => mount)])
  for (const { source } of placed.filter(isIntents))
    for (const address of [source.frameReceiver?.path, source.subject]) {
      if (address === undefined) continue
      if (claimed.has(address))
        throw new SetupError(
          `${source.id} cannot be served at ${address}: the address is already in use. Choose another.`,
        )
      claimed.add(address)
    }
  const hidden = placed.some(({ gate }) => gate) && [...claimed].find(isRecordsPath)
  if (hidden)
    throw new SetupError(`The path ${hidden} is reserved for the records API. Choose another.`)
  checkExclusive(placed)
}

/** Readers of records must see nothing else, and callers of other sources no records. */
function checkExclusive(placed: readonly PlacedSource[]): void {
  const conflict = placed.find(
    ({ isExclusive, mount }) =>
      isExclusive && placed.filter((one) => one.mount === mount).length > 1,
  )
  if (conflict)
    throw new SetupError(
      `${conflict.source.id} shares ${conflict.mount} with another source. Give it a mount of its own, such as mount: /mcp/records.`,
    )
}

/** A source that other machines can reach must authenticate its callers. */
export function checkPublic(placed: readonly PlacedIntents[], hasTokens: boolean): void {
  const exposed = placed.find(({ source }) => source.isPublic && !hasTokens)
  if (exposed)
    throw new SetupError(
      `${exposed.source.id} is served by a NATS server on another machine, and callers would not have to authenticate. Configure http.tokens ("drawbridge token" creates one).`,
    )
}
