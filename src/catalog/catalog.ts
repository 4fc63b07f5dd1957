import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Change, Reading, Source } from '../capability/source.ts'
import type { Naming } from './served-name.ts'
import { type Entry, type NamedReading, type Snapshot, toSnapshot } from './snapshot.ts'

/** A source as the operator placed it on a mount. */
export interface Placement {
  readonly source: Source
  readonly prefix?: string
}

export type Accepts = (snapshot: Snapshot) => boolean

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
  readonly #naming: Naming
  readonly #listeners = new Set<(change: CatalogChange) => void>()
  #held: Held[] = []
  #snapshot: Snapshot = toSnapshot([], 'portable')

  private constructor(naming: Naming) {
    this.#naming = naming
  }

  static async open(placements: readonly Placement[], naming: Naming): Promise<Catalog> {
    const catalog = new Catalog(naming)
    await catalog.replace(placements)
    return catalog
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  subscribe(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Takes new sources in place of all old ones, if what they offer is acceptable. Calls in flight
   * finish on what they began with.
   */
  async replace(placements: readonly Placement[], accepts: Accepts = () => true): Promise<boolean> {
    const former = this.#held
    const held = placements.map((placement) => new Held(placement, (change) => this.#hear(change)))
    await Promise.all(held.map((one) => one.read()))
    const accepted = accepts(this.#toSnapshot(held))
    if (accepted) {
      this.#held = held
      this.#rebuild()
      for (const one of held) one.watch()
    }
    await Promise.all((accepted ? former : held).map((one) => one.close()))
    return accepted
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await Promise.all(this.#held.map((one) => one.close()))
  }

  #hear(change: Change): void {
    if (change.kind === 'reading') this.#rebuild()
    else this.#tell({ ...nothing, updated: [change.uri] })
  }

  #rebuild(): void {
    const former = this.#snapshot
    this.#snapshot = this.#toSnapshot(this.#held)
    this.#tell(toChange(former, this.#snapshot))
  }

  #toSnapshot(held: readonly Held[]): Snapshot {
    return toSnapshot(
      held.map((one) => one.named),
      this.#naming,
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

/** One source while it is held: its last good reading, and at most one reading under way. */
class Held {
  readonly #placement: Placement
  readonly #announce: (change: Change) => void
  #reading: Reading = { capabilities: [] }
  #trouble: readonly Diagnostic[] = []
  #stop: (() => void) | undefined
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
      this.#reading = await source.read()
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

  async close(): Promise<void> {
    this.#closed = true
    this.#stop?.()
    await this.#placement.source.close?.()
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
