import type { Call } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Change, Reading, Source } from '../capability/source.ts'
import { dropUndefined } from '../json/drop-undefined.ts'

/** A source as configured on a mount. */
export interface Placement {
  readonly source: Source
  readonly prefix?: string
}

/** The latest reading of a source with its mount options. The same object until it changes. */
export interface MountedReading {
  /** Id of the source. */
  readonly source: string
  readonly prefix?: string
  readonly reading: Reading
  /** The reading's own diagnostics, and the error of a failed read. */
  readonly diagnostics: readonly Diagnostic[]
  /** Wraps `invoke` to count calls in flight, if the source must be closed after the last one. */
  track<T extends Capability>(capability: T): T
}

/** `due`: the source announced a change, and can be read synchronously when needed. */
export type SourceEvent = Change | { readonly kind: 'due' }

/** One source on a mount: its last good reading, and at most one read in progress. */
export class MountedSource {
  readonly #placement: Placement
  readonly #onEvent: (event: SourceEvent) => void
  #reading: Reading = { capabilities: [] }
  #mountedReading: MountedReading
  #readErrors: readonly Diagnostic[] = []
  #unwatch: (() => void) | undefined
  #callsInFlight = 0
  #onIdle: (() => void) | undefined
  #isSynchronous = false
  #isReading = false
  #isDue = false
  #isClosed = false

  constructor(placement: Placement, onEvent: (event: SourceEvent) => void) {
    this.#placement = placement
    this.#onEvent = onEvent
    this.#mountedReading = this.#toMountedReading()
  }

  get mountedReading(): MountedReading {
    return this.#mountedReading
  }

  async read(): Promise<void> {
    try {
      const reading = this.#placement.source.read()
      this.#isSynchronous = !(reading instanceof Promise)
      this.#accept(reading instanceof Promise ? await reading : reading)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Reads an announced change of a source that answers synchronously. */
  readNow(): void {
    if (!this.#isDue || !this.#isSynchronous || this.#isClosed) return
    this.#isDue = false
    try {
      const reading = this.#placement.source.read()
      if (!(reading instanceof Promise)) return this.#accept(reading)
      this.#isSynchronous = false
      reading.catch(() => {})
      void this.#readAgain()
    } catch (error) {
      this.#fail(error)
    }
  }

  watch(): void {
    this.#unwatch = this.#placement.source.watch?.((change) => {
      if (this.#isClosed) return
      if (change.kind === 'view') this.#onEvent(change)
      else if (this.#isSynchronous) {
        this.#isDue = true
        this.#onEvent({ kind: 'due' })
      } else void this.#readAgain()
    })
  }

  /** Closes the source after its last call in flight, or when the grace period is over. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true
    this.#unwatch?.()
    if (this.#callsInFlight > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
        setTimeout(resolve, graceMs).unref()
      })
    await this.#placement.source.close?.()
  }

  #accept(reading: Reading): void {
    if (reading === this.#reading && this.#readErrors.length === 0) return
    this.#reading = reading
    this.#readErrors = []
    this.#mountedReading = this.#toMountedReading()
  }

  /** Keeps serving the last good reading. */
  #fail(error: unknown): void {
    // Module loaders append a "Require stack", which does not help here.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\nRequire')
    const message = `The source could not be read: ${reason}`
    const origin = { source: this.#placement.source.id, pointer: '' }
    this.#readErrors = [{ code: 'source_unreadable', severity: 'error', message, ...origin }]
    this.#mountedReading = this.#toMountedReading()
  }

  #toMountedReading(): MountedReading {
    const { source, prefix } = this.#placement
    const reading = this.#reading
    return {
      source: source.id,
      ...dropUndefined({ prefix }),
      reading,
      diagnostics: [...(reading.diagnostics ?? []), ...this.#readErrors],
      track: source.close
        ? (capability) => ({
            ...capability,
            invoke: (call: Call) => this.#invokeTracked(capability, call),
          })
        : (capability) => capability,
    }
  }

  async #invokeTracked(capability: Capability, call: Call) {
    this.#callsInFlight++
    try {
      return await capability.invoke(call)
    } finally {
      if (--this.#callsInFlight === 0) this.#onIdle?.()
    }
  }

  /** Coalesces a burst of announcements into one read, or two if it began during one. */
  async #readAgain(): Promise<void> {
    this.#isDue = true
    if (this.#isReading) return
    this.#isReading = true
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false
      const reading = this.read()
      if (!this.#isSynchronous) await reading
      if (!this.#isClosed) this.#onEvent({ kind: 'reading' })
    }
    this.#isReading = false
  }
}
