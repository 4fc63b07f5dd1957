import type { Readable, Writable } from 'node:stream'
import type { Caller } from '../capability/caller.ts'
import type { Source } from '../capability/source.ts'
import type { OnOperatorFailure } from '../governance/steps/record-audit.ts'
import type { ConfigInput } from './config/config-shape.ts'
import type { PlacedSource } from './placed-source.ts'

/** Options of `createDrawbridge`. `mounts`, `policy` and `http` have the shape they have in `drawbridge.yaml`. */
export interface DrawbridgeOptions {
  /** Name of the server. Default: the name that its only source declares, or `drawbridge`. */
  readonly name?: string
  /** Version of the server. Default: the version that its only source declares, or `0.0.0`. */
  readonly version?: string
  /** Description of the server, for clients that show one. */
  readonly description?: string
  /** Instructions that clients pass to the model. Default: those of the first source. */
  readonly instructions?: string
  /** Sources of capabilities, mounted on `/mcp` unless they name another mount. */
  readonly sources: readonly (Source | PlacedSource)[]
  /** Options per mount path, such as how capabilities are named. */
  readonly mounts?: ConfigInput['mounts']
  /** Rules, limits, and whether they are enforced or only observed. */
  readonly policy?: ConfigInput['policy']
  /** Address, allowed hosts and origins, bearer tokens and body limit of the HTTP server. */
  readonly http?: ConfigInput['http']
  /** File of the ledger (audit, approvals, runs). Default: in memory, lost when the process ends. */
  readonly store?: string
  /** Values that are removed from results, diagnostics and the causes that `onOperatorFailure` receives. */
  readonly secrets?: readonly string[]
  /** Grant token for local callers (`call`, `stdio`) of a mount that serves records. */
  readonly token?: string
  /** Called for failures that only the operator can fix, with the cause that callers do not see. */
  readonly onOperatorFailure?: OnOperatorFailure
  /** Called for transport errors, such as malformed requests and failed cleanup. */
  readonly onError?: (error: unknown) => void
  /**
   * Called for operational errors, such as a lost connection or a broken seal. Default: `onError`, or
   * a process warning.
   */
  readonly onOperationalError?: (error: unknown) => void
}

/** Options of `Drawbridge.call`, `explain` and `list`. */
export interface CallOptions {
  /** Default: the local user; for `call` on a mount that serves records, the holder of `token`. */
  readonly caller?: Caller
  /** Default: the only mount that offers anything, or `/mcp`. */
  readonly mount?: string
  /** Cancels the call. */
  readonly signal?: AbortSignal
  /** `_meta` of the request, such as an idempotency key or an expected fingerprint. */
  readonly meta?: Readonly<Record<string, unknown>>
}

/** Options of `Drawbridge.stdio`. */
export interface StdioStreams {
  /** Default: `process.stdin`. */
  readonly input: Readable
  /** Default: `process.stdout`. */
  readonly output: Writable
  /** Default: the only mount that offers anything, or `/mcp`. */
  readonly mount: string
  /** Default: the local user, or the holder of `token` on a mount that serves records. */
  readonly caller: Caller
}
