import type { Call } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Change, Reading, Source } from '../capability/source.ts'
import { History } from './history.ts'
import type { Naming } from './served-name.ts'
import {
  type Entry,
  type NamedReading,
  type Refine,
  type Snapshot,
  toSnapshot,
} from './snapshot.ts'

/** A source as the operator placed it on a mount. */
export interface Placement {
  readonly source: Source
  readonly prefix?: string
}

export interface CatalogOptions {
  readonly naming: Naming
  readonly refine: Refine
}

const asItIs: Refine = (capability) => capability
const nothingYet = toSnapshot([], 'portable', asItIs)

export interface Preparation {
  readonly snapshot: Snapshot
  commit(): Promise<void>
  discard(): Promise<void>
}

/** What is different now, for those who hold a list. */
export interface CatalogChange {
  readonly capabilities: boolean
  readonly prompts: boolean
  readonly views: boolean
  /** Views that are the same but have a new value. */
  readonly updated: readonly string[]
}

/** All of a mount's sources as one frozen snapshot, replaced whole when a source announces. */
export class Catalog {
  readonly #options: CatalogOptions
  readonly #history = new History()
  readonly #listeners = new Set<(change: CatalogChange) => void>()
  #held: Held[] = []
  #snapshot: Snapshot = nothingYet

  private constructor(options: CatalogOptions) {
    this.#options = options
  }

  static async open(
    placements: readonly Placement[],
    options: Partial<CatalogOptions> = {},
  ): Promise<Catalog> {
    const catalog = new Catalog({ naming: 'portable', refine: asItIs, ...options })
    const { commit } = await catalog.prepare(placements)
    await commit()
    return catalog
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  subscribe(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** What differs between two definitions that were served under a name, as far as is remembered. */
  compare(name: string, former: string, present: string): readonly string[] | undefined {
    return this.#history.compare(name, former, present)
  }

  /**
   * Reads new sources that may take the place of all old ones, so that several catalogs can change
   * together or not at all. Calls in flight finish on what they began with.
   */
  async prepare(placements: readonly Placement[]): Promise<Preparation> {
    const held = placements.map((placement) => new Held(placement, (change) => this.#hear(change)))
    await Promise.all(held.map((one) => one.read()))
    return {
      snapshot: this.#toSnapshot(held),
      discard: () => closeAll(held, longestCall),
      commit: () => {
        const former = this.#held
        this.#held = held
        this.#rebuild()
        for (const one of held) one.watch()
        return closeAll(former, longestCall)
      },
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await closeAll(this.#held, lastWords)
  }

  #hear(change: Change): void {
    if (change.kind === 'reading') this.#rebuild()
    else this.#tell({ ...nothing, updated: [change.uri] })
  }

  #rebuild(): void {
    const former = this.#snapshot
    this.#snapshot = this.#toSnapshot(this.#held)
    this.#history.keep(this.#snapshot)
    this.#tell(toChange(former, this.#snapshot))
  }

  #toSnapshot(held: readonly Held[]): Snapshot {
    return toSnapshot(
      held.map((one) => one.named),
      this.#options.naming,
      this.#options.refine,
    )
  }

  #tell(change: CatalogChange): void {
    const { capabilities, prompts, views, updated } = change
    if (!capabilities && !prompts && !views && updated.length === 0) return
    for (const listener of this.#listeners) listener(change)
  }
}

const nothing: CatalogChange = { capabilities: false, prompts: false, views: false, updated: [] }

function toChange(former: Snapshot, present: Snapshot): CatalogChange {
  const templates = (snapshot: Snapshot) =>
    new Map(snapshot.templates.map((entry) => [entry.capability.uri, entry]))
  return {
    capabilities: differ(former.capabilities, present.capabilities),
    prompts: differ(former.prompts, present.prompts),
    views: differ(former.views, present.views) || differ(templates(former), templates(present)),
    updated: [],
  }
}

type Entries = ReadonlyMap<string, Pick<Entry<never>, 'fingerprint'>>

function differ(former: Entries, present: Entries): boolean {
  if (former.size !== present.size) return true
  for (const [key, { fingerprint }] of present)
    if (former.get(key)?.fingerprint !== fingerprint) return true
  return false
}

/** Milliseconds for calls on sources that were replaced, and for what is left when all is over. */
const longestCall = 10 * 60_000
const lastWords = 100

const closeAll = async (held: readonly Held[], patience: number): Promise<void> => {
  await Promise.all(held.map((one) => one.close(patience)))
}

/** One source while it is held: its last good reading, and at most one reading under way. */
class Held {
  readonly #placement: Placement
  readonly #announce: (change: Change) => void
  #reading: Reading = { capabilities: [] }
  #trouble: readonly Diagnostic[] = []
  #stop: (() => void) | undefined
  #calls = 0
  #lastEnded: (() => void) | undefined
  #busy = false
  #due = false
  #closed = false

  constructor(placement: Placement, announce: (change: Change) => void) {
    this.#placement = placement
    this.#announce = announce
  }

  get named(): NamedReading {
    const { source, prefix } = this.#placement
    const diagnostics = [...(this.#reading.diagnostics ?? []), ...this.#trouble]
    return {
      source: source.id,
      ...(prefix !== undefined && { prefix }),
      reading: { ...this.#reading, diagnostics },
    }
  }

  async read(): Promise<void> {
    const { source } = this.#placement
    try {
      this.#reading = this.#counting(await source.read())
      this.#trouble = []
    } catch (error) {
      // What it offered before is still true as far as anybody knows.
      const message = `The source could not be read: ${(error as Error).message}`
      const at = { source: source.id, pointer: '' }
      this.#trouble = [{ code: 'source_unreadable', severity: 'error', message, ...at }]
    }
  }

  watch(): void {
    this.#stop = this.#placement.source.watch?.((change) => {
      if (this.#closed) return
      if (change.kind === 'view') this.#announce(change)
      else void this.#readAgain()
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

  /** Only where it matters when the last call ends. */
  #counting(reading: Reading): Reading {
    if (!this.#placement.source.close) return reading
    const count = <T extends Capability>(capability: T): T => ({
      ...capability,
      invoke: async (call: Call) => {
        this.#calls++
        try {
          return await capability.invoke(call)
        } finally {
          if (--this.#calls === 0) this.#lastEnded?.()
        }
      },
    })
    return {
      ...reading,
      capabilities: reading.capabilities.map(count),
      ...(reading.views && { views: reading.views.map(count) }),
      ...(reading.prompts && { prompts: reading.prompts.map(count) }),
    }
  }

  /** A burst of announcements costs one reading, or two when it began during one. */
  async #readAgain(): Promise<void> {
    this.#due = true
    if (this.#busy) return
    this.#busy = true
    while (this.#due && !this.#closed) {
      this.#due = false
      await this.read()
      if (!this.#closed) this.#announce({ kind: 'reading' })
    }
    this.#busy = false
  }
}
