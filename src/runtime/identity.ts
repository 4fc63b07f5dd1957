import type { Snapshot } from '../catalog/snapshot.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { ServerIdentity } from '../mcp/surface.ts'
import type { DrawbridgeOptions } from './drawbridge-options.ts'

/** Name and version of a server: as configured, or as its only source describes itself. */
export function toIdentity(
  options: DrawbridgeOptions,
  snapshot: Snapshot | undefined,
  toServed: (text: string) => string,
): ServerIdentity {
  const [first, ...others] = snapshot?.abouts ?? []
  const about = others.length === 0 ? first : undefined
  const description = options.description ?? about?.description
  return {
    name: toServed(options.name ?? about?.name ?? 'drawbridge'),
    version: toServed(options.version ?? about?.version ?? '0.0.0'),
    ...dropUndefined({
      // The title belongs to the name of the source, so a configured name replaces both.
      title: options.name === undefined ? about?.title : undefined,
      description: description === undefined ? undefined : toServed(description),
    }),
  }
}
