import type { Call } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Change, Reading, Source } from '../capability/source.ts'

/** A source as the operator placed it on a mount. */
export interface Placement {
  readonly source: Source
  readonly prefix?: string
}

/** What a source said last, and how the operator wants it. The same object until there is more. */
export interface HeldReading {
  readonly prefix?: string
  readonly reading: Reading
  /** The reading's, and what trouble there was in reading it. */
  readonly diagnostics: readonly Diagnostic[]
  /** Where it matters when its last call ends, a capability that is counted. */
  count<T extends Capability>(capability: T): T
}

/** Told that a view has a new value, that there is a new reading, or that one can be had at once. */
export type Heard = Change | { readonly kind: 'due' }

/** One source while it is held: its last good reading, and at most one reading under way. */
export class HeldSource {
  readonly #placement: Placement
  readonly #announce: (heard: Heard) => void
  #reading: Reading = { capabilities: [] }
  #held: HeldReading
  #trouble: readonly Diagnostic[] = []
  #stop: (() => void) | undefined
  #calls = 0
  #lastEnded: (() => void) | undefined
  #answersAtOnce = false
  #busy = false
  #due = false
  #closed = false

  constructor(placement: Placement, announce: (heard: Heard) => void) {
    this.#placement = placement
    this.#announce = announce
    this.#held = this.#toHeld()
  }

  get held(): HeldReading {
    return this.#held
  }

  async read(): Promise<void> {
    try {
      const reading = this.#placement.source.read()
      this.#answersAtOnce = !(reading instanceof Promise)
      this.#take(reading instanceof Promise ? await reading : reading)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Catches up with a source that answers at once. */
  readNow(): void {
    if (!this.#due || !this.#answersAtOnce || this.#closed) return
    this.#due = false
    try {
      const reading = this.#placement.source.read()
      if (!(reading instanceof Promise)) return this.#take(reading)
      this.#answersAtOnce = false
      reading.catch(() => {})
      void this.#readAgain()
    } catch (error) {
      this.#fail(error)
    }
  }

  watch(): void {
    this.#stop = this.#placement.source.watch?.((change) => {
      if (this.#closed) return
      if (change.kind === 'view') this.#announce(change)
      else if (this.#answersAtOnce) {
        this.#due = true
        this.#announce({ kind: 'due' })
      } else void this.#readAgain()
    })
  }

  /** A source is let go when its last call has ended, or will not end any more. */
  async close(patience: number): Promise<void> {
    this.#closed = true
    this.#stop?.()
    if (this.#calls > 0)
      await new Promise<void>((resolve) => {
        this.#lastEnded = resolve
        setTimeout(resolve, patience).unref()
      })
    await this.#placement.source.close?.()
  }

  #take(reading: Reading): void {
    if (reading === this.#reading && this.#trouble.length === 0) return
    this.#reading = reading
    this.#trouble = []
    this.#held = this.#toHeld()
  }

  /** What it offered before is still true as far as anybody knows. */
  #fail(error: unknown): void {
    // What loads modules adds a list of who wanted them, which helps nobody here.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\nRequire')
    const message = `The source could not be read: ${reason}`
    const at = { source: this.#placement.source.id, pointer: '' }
    this.#trouble = [{ code: 'source_unreadable', severity: 'error', message, ...at }]
    this.#held = this.#toHeld()
  }

  #toHeld(): HeldReading {
    const { source, prefix } = this.#placement
    const reading = this.#reading
    return {
      ...(prefix !== undefined && { prefix }),
      reading,
      diagnostics: [...(reading.diagnostics ?? []), ...this.#trouble],
      count: source.close
        ? (capability) => ({ ...capability, invoke: (call: Call) => this.#count(capability, call) })
        : (capability) => capability,
    }
  }

  async #count(capability: Capability, call: Call) {
    this.#calls++
    try {
      return await capability.invoke(call)
    } finally {
      if (--this.#calls === 0) this.#lastEnded?.()
    }
  }

  /** A burst of announcements costs one reading, or two when it began during one. */
  async #readAgain(): Promise<void> {
    this.#due = true
    if (this.#busy) return
    this.#busy = true
    while (this.#due && !this.#closed) {
      this.#due = false
      const reading = this.read()
      if (!this.#answersAtOnce) await reading
      if (!this.#closed) this.#announce({ kind: 'reading' })
    }
    this.#busy = false
  }
}
