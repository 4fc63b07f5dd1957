import type { Readable, Writable } from 'node:stream'
import type { Caller } from '../capability/caller.ts'
import type { Source } from '../capability/source.ts'
import type { OnOperatorFailure } from '../governance/steps/record-audit.ts'
import type {
  AuditOptions,
  HttpOptions,
  MountOptions,
  PolicyOptions,
} from './config/config-options.ts'
import type { PlacedSource } from './placed-source.ts'

/** Options of `createDrawbridge`. `mounts`, `policy`, `audit` and `http` have the shape they have in `drawbridge.yaml`. */
export interface DrawbridgeOptions {
  /** Name of the server. Default: the name that its only source declares, or `drawbridge`. */
  readonly name?: string
  /** Version of the server. Default: the version that its only source declares, or `0.0.0`. */
  readonly version?: string
  /** Description of the server, for clients that show one. Default: that of its only source. */
  readonly description?: string
  /** Instructions that clients pass to the model. Default: those of the first source. */
  readonly instructions?: string
  /** Sources of capabilities. A plain source is served on the mount `/mcp`. */
  readonly sources: readonly (Source | PlacedSource)[]
  /** Options of mounts, by path. */
  readonly mounts?: Readonly<Record<string, MountOptions>>
  /** Rules and limits, and whether they are enforced or only observed. */
  readonly policy?: PolicyOptions
  /** Address, allowed hosts and origins, bearer tokens and body limit of the HTTP server. */
  readonly http?: HttpOptions
  /** Where signed checkpoints of the audit are sent. */
  readonly audit?: AuditOptions
  /** File of the ledger (audit, approvals, runs). Default: in memory, lost when the process ends. */
  readonly store?: string
  /** Values that are redacted from results, diagnostics and the causes of operator failures. Default: none. */
  readonly secrets?: readonly string[]
  /** Grant token for local callers (`call`, `stdio`) of a mount that serves records. */
  readonly token?: string
  /** Called for failures that only the operator can fix, with the cause that callers do not see. */
  readonly onOperatorFailure?: OnOperatorFailure
  /** Called for transport errors, such as malformed requests and failed cleanup. Default: ignored. */
  readonly onError?: (error: unknown) => void
  /**
   * Called for operational errors, such as a lost connection or a broken seal. Default: `onError`, or
   * a process warning named `DrawbridgeWarning`.
   */
  readonly onOperationalError?: (error: unknown) => void
}

/** Options of `Drawbridge.list`. */
export interface ListOptions {
  /** Default: the local user, who holds every scope. */
  readonly caller?: Caller
  /** Path of the mount. Default: the only mount that offers anything, or `/mcp`. */
  readonly mount?: string
}

/** Options of `Drawbridge.explain`. */
export interface ExplainOptions extends ListOptions {
  /** Idempotency key, 1 to 255 characters: calls with the same key run once and get the same result. */
  readonly idempotencyKey?: string
  /** Further `_meta` of the request, such as `dev.drawbridge/expect-fingerprint`. */
  readonly meta?: Readonly<Record<string, unknown>>
}

/** Options of `Drawbridge.call`. */
export interface CallOptions extends ExplainOptions {
  /** Default: the local user; on a mount that serves records, the holder of `token`. */
  readonly caller?: Caller
  /** Cancels the call when it aborts. */
  readonly signal?: AbortSignal
}

/** Options of `Drawbridge.probeUpstreams`. */
export interface ProbeOptions {
  /** Milliseconds that one server has to answer. Default: 10,000. */
  readonly timeoutMs?: number
  /** Called when a server is to be asked, and when it has answered or was not reached in time. */
  readonly onProgress?: (done: number, total: number) => void
}

/** Options of `Drawbridge.listen`. */
export interface ListenOptions {
  /** Address to listen on. Default: `http.host`, which is `127.0.0.1` by default. */
  readonly host?: string
  /** Port to listen on; 0 chooses a free one. Default: `http.port`, which is 4747 by default. */
  readonly port?: number
}

/** Options of `Drawbridge.stdio`. */
export interface StdioOptions {
  /** Stream that the client writes to. Default: `process.stdin`. */
  readonly input?: Readable
  /** Stream that the client reads from. Default: `process.stdout`. */
  readonly output?: Writable
  /** Path of the mount. Default: the only mount that offers anything, or `/mcp`. */
  readonly mount?: string
  /** Default: the local user, or the holder of `token` on a mount that serves records. */
  readonly caller?: Caller
  /** Milliseconds that running calls get to be answered after the end of `input`. Default: 1000. */
  readonly graceMs?: number
}
