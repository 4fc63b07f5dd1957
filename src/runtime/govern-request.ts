import { randomUUID } from 'node:crypto'
import { createCall } from '../capability/call.ts'
import type { Contract } from '../capability/contract.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Refine } from '../catalog/snapshot.ts'
import { refused } from '../governance/failures.ts'
import type { Next } from '../governance/steps/step.ts'
import type { RestRequest } from '../http/records/records-routes.ts'
import { type Surface, toCallAddress } from '../mcp/surface.ts'

export interface GovernOptions {
  readonly surface: Surface
  readonly refine: Refine
  readonly govern: Next
}

/** What is read or put in without MCP passes what a call of a tool would pass. */
export async function governRequest(
  { capability: wanted, invoke, ...rest }: RestRequest,
  { surface, refine, govern }: GovernOptions,
): Promise<Outcome> {
  const { mount, projection, run } = surface
  const entry =
    typeof wanted === 'string'
      ? [...projection.snapshot.capabilities.values()].find(
          ({ capability: { origin } }) => origin.pointer === `/${wanted}`,
        )
      : { capability: refine(wanted), fingerprint: '' }
  if (!entry) return refused('internal', `${mount} serves no ${wanted}`)
  const { fingerprint } = entry
  const capability = { ...entry.capability, input: asItIs, invoke }
  const address = toCallAddress(mount, capability)
  return govern(createCall({ ...rest, id: randomUUID(), capability, address, fingerprint, run }))
}

/** Read by whoever answers it. */
const asItIs: Contract = {
  schema: { type: 'object' },
  parse: (value) => ({ ok: true, value }),
}
