import type { Cancellation } from '../../capability/cancellation.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Source } from '../../capability/source.ts'
import { defaultEgress, type Egress } from './egress.ts'

/** A source that calls other servers. */
export interface UpstreamSource extends Source {
  /** Called before the source is read: from then on, it connects only as `egress` allows. */
  connectUpstreams(host: UpstreamHost): void
  /** The servers that a call of the capability may reach. */
  destinations(capability: Capability): readonly Destination[]
  /** Asks the servers whether what is declared is there, without running anything; after the source is read. */
  probe?(schedule: ScheduleProbe): Promise<readonly Diagnostic[]>
}

/** Runs a request to one server when its turn comes, with a time limit. */
export type ScheduleProbe = <T>(ask: (cancellation: Cancellation) => Promise<T>) => Promise<T>

export interface UpstreamHost {
  readonly egress: Egress
  /** Receives every secret that is sent to a server, so that it is redacted from results. */
  readonly onSecret: (value: string) => void
}

/** A server that a call may reach, and the secret that it gets. */
export interface Destination {
  readonly url: string
  /** The interface or agent that the server is declared for. */
  readonly via?: string
  readonly secret?: SecretUse
}

export interface SecretUse {
  /** The secret's name or reference; never its value. */
  readonly name: string
  readonly header: string
  /** The secret is known to have no value. */
  readonly isUnset?: boolean
  /** Why there is none, although the server needs one. */
  readonly fault?: string
}

export const isUpstreamSource = (source: Source): source is UpstreamSource =>
  'connectUpstreams' in source && 'destinations' in source

/** The host before a source is connected: the rules without a policy, and nothing to redact. */
export const defaultHost: UpstreamHost = { egress: defaultEgress, onSecret: () => {} }
