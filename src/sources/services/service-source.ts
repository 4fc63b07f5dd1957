import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Change, Reading, Source } from '../../capability/source.ts'
import type { PendingMap } from './observed/observed-service.ts'
import { ServiceGraph } from './observed/service-graph.ts'
import { type ServiceOptions, type ServiceSettings, toServiceSettings } from './options.ts'
import type { Service } from './service.ts'

/** A live service: its actions, its states and what it is linked to, as they are at any moment. */
export const serviceSource = (service: Service, options: ServiceOptions = {}): Source =>
  new ServiceSource(service, toServiceSettings(options, service.serviceName ?? 'service'))

class ServiceSource implements Source {
  readonly id: string
  readonly #service: Service
  readonly #settings: ServiceSettings
  readonly #listeners = new Set<(change: Change) => void>()
  #graph: ServiceGraph | undefined
  #patience: Patience | undefined
  #isClosed = false
  #last: { readonly said: Reading; readonly silent: string; readonly reading: Reading } | undefined

  constructor(service: Service, settings: ServiceSettings) {
    this.id = settings.id
    this.#service = service
    this.#settings = settings
  }

  /** Waits for a first word of everything, but not for ever; from then on it answers at once. */
  read(): Reading | Promise<Reading> {
    const graph = this.#open()
    const reading = graph.read()
    // Who is linked later is not waited for: everybody else would wait too.
    if (graph.pending.length === 0 || this.#last || this.#isClosed)
      return this.#toReading(reading, graph.pending)
    this.#patience ??= new Patience(this.#settings.readiness)
    return this.#patience.over.then(() => this.#toReading(graph.read(), graph.pending))
  }

  watch(announce: (change: Change) => void): () => void {
    this.#listeners.add(announce)
    if (this.#graph?.hasUnread) announce({ kind: 'reading' })
    return () => this.#listeners.delete(announce)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#patience?.end()
    this.#graph?.release()
    this.#listeners.clear()
  }

  #open(): ServiceGraph {
    this.#graph ??= new ServiceGraph(this.#service, this.#settings, (change) => this.#tell(change))
    return this.#graph
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change)
    // Links may bring others that have to be waited for.
    if (this.#patience && !this.#patience.isOver)
      queueMicrotask(() => {
        this.#graph?.read()
        if (this.#graph?.pending.length === 0) this.#patience?.end()
      })
  }

  /** The same object for the same things. */
  #toReading(said: Reading, silent: readonly PendingMap[]): Reading {
    const names = silent.map(({ pointer }) => pointer).join(' ')
    if (this.#last?.said === said && this.#last.silent === names) return this.#last.reading
    const diagnostics = [
      ...(said.diagnostics ?? []),
      ...silent.map((part) => this.#toSilence(part)),
    ]
    const reading = { ...said, diagnostics }
    this.#last = { said, silent: names, reading }
    return reading
  }

  #toSilence({ name, pointer }: PendingMap): Diagnostic {
    const { id } = this.#settings
    return {
      code: 'service_silent',
      severity: 'warning',
      message: `${name} has said nothing yet, and is served as soon as it does. A condition that never emits keeps back everything beside it.`,
      source: id,
      pointer,
    }
  }
}

/** A deadline that can be reached early. */
class Patience {
  isOver = false
  readonly over: Promise<void>
  #end: () => void = () => {}
  readonly #timer: NodeJS.Timeout

  constructor(milliseconds: number) {
    this.over = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#timer = setTimeout(() => this.end(), milliseconds)
  }

  end(): void {
    this.isOver = true
    clearTimeout(this.#timer)
    this.#end()
  }
}
