import { checkOptionNames } from '../../capability/check-option-names.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Change, Reading, Source } from '../../capability/source.ts'
import type { PendingMap } from './observed/observed-service.ts'
import { ServiceGraph } from './observed/service-graph.ts'
import {
  type ServiceOptions,
  type ServiceSettings,
  serviceOptionNames,
  toServiceSettings,
} from './options.ts'
import type { Service } from './service.ts'

/**
 * A source that follows a live service: its available actions are tools, its states are resources,
 * and both change when the service does.
 *
 * @example
 * ```ts
 * import { createDrawbridge, derive, fromSignal, serviceSource } from 'drawbridge-mcp'
 * import { signal } from '@preact/signals-core'
 *
 * const lamp = signal(false)
 * const states = derive(fromSignal(lamp), (value) => ({ lamp: { value } }))
 * const bridge = createDrawbridge({ sources: [serviceSource({ states }, { id: 'kitchen' })] })
 * ```
 */
export function serviceSource(service: Service, options: ServiceOptions = {}): Source {
  checkOptionNames(options, serviceOptionNames)
  return new ServiceSource(service, toServiceSettings(options, service.serviceName ?? 'service'))
}

class ServiceSource implements Source {
  readonly id: string
  readonly #service: Service
  readonly #settings: ServiceSettings
  readonly #listeners = new Set<(change: Change) => void>()
  #graph: ServiceGraph | undefined
  #readiness: Deadline | undefined
  #isClosed = false
  #lastReading:
    | {
        readonly observedReading: Reading
        readonly pendingPointers: string
        readonly reading: Reading
      }
    | undefined

  constructor(service: Service, settings: ServiceSettings) {
    this.id = settings.id
    this.#service = service
    this.#settings = settings
  }

  /** Waits for the first value of every observable, up to `readiness`; later calls return at once. */
  read(): Reading | Promise<Reading> {
    const graph = this.#open()
    const reading = graph.read()
    // A service that is linked later is not awaited: it would delay every other capability.
    if (graph.pending.length === 0 || this.#lastReading || this.#isClosed)
      return this.#toReading(reading, graph.pending)
    this.#readiness ??= new Deadline(this.#settings.readiness)
    return this.#readiness.reached.then(() => this.#toReading(graph.read(), graph.pending))
  }

  watch(announce: (change: Change) => void): () => void {
    this.#listeners.add(announce)
    if (this.#graph?.hasUnread) announce({ kind: 'reading' })
    return () => this.#listeners.delete(announce)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#readiness?.end()
    this.#graph?.release()
    this.#listeners.clear()
  }

  #open(): ServiceGraph {
    this.#graph ??= new ServiceGraph(this.#service, this.#settings, (change) =>
      this.#announce(change),
    )
    return this.#graph
  }

  #announce(change: Change): void {
    for (const listener of this.#listeners) listener(change)
    // Links may have added services that are pending themselves.
    if (this.#readiness && !this.#readiness.isReached)
      queueMicrotask(() => {
        this.#graph?.read()
        if (this.#graph?.pending.length === 0) this.#readiness?.end()
      })
  }

  /** Returns the same object while nothing has changed, so that the catalog can compare by identity. */
  #toReading(observedReading: Reading, pendingMaps: readonly PendingMap[]): Reading {
    const pointers = pendingMaps.map(({ pointer }) => pointer).join(' ')
    if (
      this.#lastReading?.observedReading === observedReading &&
      this.#lastReading.pendingPointers === pointers
    )
      return this.#lastReading.reading
    const diagnostics = [
      ...(observedReading.diagnostics ?? []),
      ...pendingMaps.map((map) => this.#toPendingDiagnostic(map)),
    ]
    const reading = { ...observedReading, diagnostics }
    this.#lastReading = { observedReading, pendingPointers: pointers, reading }
    return reading
  }

  #toPendingDiagnostic({ name, pointer }: PendingMap): Diagnostic {
    const { id } = this.#settings
    return {
      code: 'service_silent',
      severity: 'warning',
      message: `${name} has not emitted a value yet and is served as soon as it does. An observable that never emits blocks everything combined with it; give it an initial value.`,
      source: id,
      pointer,
    }
  }
}

/** A deadline that can be ended early. */
class Deadline {
  isReached = false
  readonly reached: Promise<void>
  #end: () => void = () => {}
  readonly #timer: NodeJS.Timeout

  constructor(milliseconds: number) {
    this.reached = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#timer = setTimeout(() => this.end(), milliseconds)
  }

  end(): void {
    this.isReached = true
    clearTimeout(this.#timer)
    this.#end()
  }
}
