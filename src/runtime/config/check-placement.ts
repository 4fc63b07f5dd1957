import { SetupError } from '../../capability/setup-error.ts'
import { isRecordsPath } from '../../http/records/records-routes.ts'
import type { PlacedSource } from '../open-sources.ts'
import { isIntents, type PlacedIntents } from '../routing.ts'

/** One address, one meaning. */
export function checkPlacement(placed: readonly PlacedSource[]): void {
  const taken = new Set(['/mcp', '/health', '/approvals', ...placed.map(({ mount }) => mount)])
  for (const { source } of placed.filter(isIntents))
    for (const place of [source.desk?.path, source.subject]) {
      if (place === undefined) continue
      if (taken.has(place))
        throw new SetupError(`${source.id} cannot be asked at ${place}: something else is there.`)
      taken.add(place)
    }
  const hidden = placed.some(({ door }) => door) && [...taken].find(isRecordsPath)
  if (hidden) throw new SetupError(`${hidden} is where records are served: choose another path.`)
  checkAlone(placed)
}

/** Readers of records see nothing else, and nobody else sees records. */
function checkAlone(placed: readonly PlacedSource[]): void {
  const crowded = placed.find(
    ({ standsAlone, mount }) =>
      standsAlone && placed.filter((one) => one.mount === mount).length > 1,
  )
  if (crowded)
    throw new SetupError(
      `${crowded.source.id} shares ${crowded.mount} with another source. Give it a mount of its own, such as mount: /mcp/records.`,
    )
}

/** Who can be asked from other machines must know who asks. */
export function checkPublic(placed: readonly PlacedIntents[], knowsCallers: boolean): void {
  const open = placed.find(({ source }) => source.isPublic && !knowsCallers)
  if (open)
    throw new SetupError(
      `${open.source.id} is served by a NATS server on another machine, and nobody would have to prove who they are. Configure http.tokens ("drawbridge token" mints one).`,
    )
}
