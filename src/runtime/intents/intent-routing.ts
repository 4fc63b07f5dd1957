import { randomBytes } from 'node:crypto'
import type { Call } from '../../capability/call.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Explanation } from '../../governance/explain.ts'
import type { Next } from '../../governance/steps/step.ts'
import type { Identify } from '../../http/callers.ts'
import type { FrameEndpoint } from '../../http/frames/frame-route.ts'
import type { Surface } from '../../mcp/surface.ts'
import type { IntentSource } from '../../sources/intents/intent-source.ts'
import { isIntentSource } from '../../sources/intents/is-intent-source.ts'
import { toRouteExplanation } from '../../sources/intents/route-explanation.ts'
import type { Serving } from '../../sources/intents/transport/nats/bus.ts'
import { SqliteExecutionLog } from '../../storage/ledger/sqlite-execution-log.ts'
import type { SqliteLedger } from '../../storage/ledger/sqlite-ledger.ts'
import { toFrameEndpoint, toReceive } from '../frame-endpoint.ts'
import type { OpenedSource } from '../placed-source.ts'
import { ExecutionHistory, type ResumeResult, resumeAndSettle } from './execution-history.ts'

export type PlacedIntents = OpenedSource & { readonly source: IntentSource }

export const isIntents = (opened: OpenedSource): opened is PlacedIntents =>
  isIntentSource(opened.source)

export interface RoutingParts {
  readonly ledger: SqliteLedger
  readonly steadyNow: () => number
  readonly identify: Identify
  readonly govern: Next
  readonly surfaceAt: (mount: string) => Surface
  readonly onOperationalError: (error: unknown) => void
}

/** The sources that route intents, with their execution log and frame endpoints. */
export class Routing {
  readonly #parts: RoutingParts
  readonly #log: SqliteExecutionLog
  #sources: readonly PlacedIntents[] = []
  /** Responders on other transports than HTTP. */
  #servings: readonly Serving[] = []

  constructor(parts: RoutingParts) {
    this.#parts = parts
    this.#log = new SqliteExecutionLog(parts.ledger)
  }

  get sources(): readonly PlacedIntents[] {
    return this.#sources
  }

  /** Gives sources their host. Call before they are read. */
  connect(sources: readonly PlacedIntents[]): void {
    const { steadyNow, onOperationalError } = this.#parts
    const host = { now: Date.now, steadyNow, randomBytes, log: this.#log, onOperationalError }
    for (const { source } of sources) source.connect(host)
  }

  /** Replaces the sources that are served. */
  setSources(sources: readonly PlacedIntents[]): void {
    this.#sources = sources
  }

  get executions(): ExecutionHistory {
    return new ExecutionHistory(
      this.#log,
      this.#sources.map(({ source }) => source.keys),
    )
  }

  resume(id: string, by: string): Promise<ResumeResult> {
    const sources = this.#sources.map(({ source }) => source)
    const { ledger } = this.#parts
    return resumeAndSettle({ history: this.executions, sources, ledger }, id, by)
  }

  /** Diagnostics for NATS servers that cannot be reached now. */
  async probe(): Promise<readonly Diagnostic[]> {
    return (await Promise.all(this.#sources.map(({ source }) => source.probe()))).flat()
  }

  /** The routing decision for a call; empty when its capability is not routed. */
  explain(call: Call): readonly Explanation[] {
    const { source: id } = call.capability.origin
    const decision = this.#sources.find(({ source }) => source.id === id)?.source.previewRoute(call)
    return decision ? [toRouteExplanation(decision)] : []
  }

  frames(path: string): FrameEndpoint | undefined {
    const placed = this.#sources.find(({ source }) => source.frameReceiver?.path === path)
    return placed && this.#toEndpoint(placed)
  }

  /** Serves on other transports than HTTP. Starts the new responders before stopping the old ones, so that there is no gap. */
  async serve(): Promise<void> {
    const previous = this.#servings
    this.#servings = this.#sources.flatMap((placed) => {
      const endpoint = this.#toEndpoint(placed)
      const receive = endpoint && toReceive(endpoint, this.#parts.identify)
      return (receive && placed.source.serve(receive)) ?? []
    })
    await Promise.all(this.#servings.map(({ firstAttempt }) => firstAttempt))
    for (const serving of previous) serving.stop()
  }

  stop(): void {
    for (const serving of this.#servings) serving.stop()
  }

  /** Cancels requests that are still running after the grace period. */
  abandon(): void {
    for (const serving of this.#servings) serving.abandon()
  }

  #toEndpoint({ mount, source }: PlacedIntents): FrameEndpoint | undefined {
    const { frameReceiver: receiver } = source
    if (!receiver) return undefined
    const surface = this.#parts.surfaceAt(mount)
    return toFrameEndpoint({
      receiver,
      mount,
      find: (name) => surface.projection.findInner(source.id, name),
      run: surface.run,
      govern: this.#parts.govern,
      newId: surface.newId,
    })
  }
}
