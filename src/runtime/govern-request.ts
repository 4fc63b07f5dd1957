import { randomUUID } from 'node:crypto'
import { createCall } from '../capability/call.ts'
import type { Contract } from '../capability/contract.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Refine } from '../catalog/snapshot.ts'
import { refused } from '../governance/failures.ts'
import type { Next } from '../governance/steps/step.ts'
import type { RestRequest } from '../http/records/records-api.ts'
import { type Surface, toCallAddress } from '../mcp/surface.ts'

export interface GovernOptions {
  readonly surface: Surface
  readonly refine: Refine
  readonly govern: Next
}

/** Governs a REST request for records like a tool call. */
export async function governRequest(
  { capability: requested, invoke, ...rest }: RestRequest,
  { surface, refine, govern }: GovernOptions,
): Promise<Outcome> {
  const { mount, projection, run } = surface
  const entry =
    typeof requested === 'string'
      ? [...projection.snapshot.capabilities.values()].find(
          ({ capability: { origin } }) => origin.pointer === `/${requested}`,
        )
      : { capability: refine(requested), fingerprint: '' }
  if (!entry) return refused('internal', `${mount} has no capability ${requested}`)
  const { fingerprint } = entry
  const capability = { ...entry.capability, input: acceptAny, invoke }
  const address = toCallAddress(mount, capability)
  return govern(createCall({ ...rest, id: randomUUID(), capability, address, fingerprint, run }))
}

/** The route validates its own input. */
const acceptAny: Contract = {
  schema: { type: 'object' },
  parse: (value) => ({ ok: true, value }),
}
