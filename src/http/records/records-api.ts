import type { Caller } from '../../capability/caller.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { Capability } from '../../capability/capability.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { TokenGates } from '../../sources/records/grants/token-gate.ts'

/** The records of all mounts, and the pipeline that their requests pass. */
export interface RecordsApi {
  readonly tokenGates: TokenGates
  readonly newId: () => string
  run(mount: string, request: RestRequest): Promise<Outcome>
}

/** One REST request as a governed call. */
export interface RestRequest {
  /** The name of the equivalent tool, or a capability of its own where there is none. */
  readonly capability: string | Capability
  readonly caller: Caller
  /** The input as the audit log keeps it. */
  readonly input: JsonObject
  readonly cancellation: Cancellation
  readonly invoke: () => Promise<Outcome>
}
