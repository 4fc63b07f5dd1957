import type { Capability, View } from '../capability/capability.ts'
import { CatalogIndex, type EntryChanges } from './catalog-index.ts'
import { type Heard, HeldSource, type Placement } from './held-source.ts'
import { History } from './history.ts'
import type { EntryChange } from './name-claims.ts'
import type { Naming } from './served-name.ts'
import type { Entry, Refine, Snapshot } from './snapshot.ts'

export type { Placement }

/** Milliseconds in which changes are gathered that nobody has asked for yet. */
const gather = 5

export interface CatalogOptions {
  readonly naming: Naming
  readonly refine: Refine
}

const asItIs: Refine = (capability) => capability

export interface Preparation {
  readonly snapshot: Snapshot
  commit(): Promise<void>
  discard(): Promise<void>
}

/** What is different now, for those who hold a list: what came, what went, and both of what differs. */
export interface CatalogChange {
  readonly capabilities: readonly Capability[]
  readonly prompts: readonly Capability[]
  readonly views: readonly View[]
  /** Views that are the same but have a new value, or have gone. */
  readonly updated: readonly string[]
}

/** All of a mount's sources as one frozen snapshot, replaced whole when a source announces. */
export class Catalog {
  readonly #options: CatalogOptions
  readonly #history = new History()
  readonly #listeners = new Set<(change: CatalogChange) => void>()
  #held: HeldSource[] = []
  #due: NodeJS.Timeout | undefined
  #stock: CatalogIndex
  #snapshot: Snapshot

  private constructor(options: CatalogOptions) {
    this.#options = options
    this.#stock = new CatalogIndex(options.naming, options.refine)
    this.#snapshot = this.#stock.toSnapshot()
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

  /** Never older than what the sources have announced, as far as they answer at once. */
  get snapshot(): Snapshot {
    if (this.#due) this.#catchUp()
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
    const held = placements.map(
      (placement) => new HeldSource(placement, (heard) => this.#hear(heard)),
    )
    await Promise.all(held.map((one) => one.read()))
    const stock = new CatalogIndex(this.#options.naming, this.#options.refine)
    for (const one of held) stock.put(one, one.held)
    stock.settle()
    return {
      snapshot: stock.toSnapshot(),
      discard: () => closeAll(held, longestCall),
      commit: () => {
        const former = this.#held
        this.#held = held
        this.#stock = stock
        const turns = toTurns(this.#snapshot, stock.toSnapshot())
        this.#renew(turns)
        for (const one of held) one.watch()
        return closeAll(former, longestCall)
      },
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#stopTimer()
    await closeAll(this.#held, lastWords)
  }

  #hear(heard: Heard): void {
    switch (heard.kind) {
      case 'due':
        this.#due ??= setTimeout(() => this.#catchUp(), gather)
        return
      case 'reading':
        return this.#rebuild()
      case 'view':
        return this.#tell({ ...nothing, updated: [heard.uri] })
    }
  }

  #catchUp(): void {
    this.#stopTimer()
    const before = this.#held.map(({ held }) => held)
    for (const one of this.#held) one.readNow()
    if (this.#held.some(({ held }, index) => held !== before[index])) this.#rebuild()
  }

  #stopTimer(): void {
    clearTimeout(this.#due)
    this.#due = undefined
  }

  #rebuild(): void {
    for (const one of this.#held) this.#stock.put(one, one.held)
    this.#renew(this.#stock.settle())
  }

  #renew(turns: EntryChanges): void {
    this.#snapshot = this.#stock.toSnapshot()
    this.#history.keep(turns.capabilities)
    this.#tell(toChange(turns))
  }

  #tell(change: CatalogChange): void {
    if (Object.values(change).every((part) => part.length === 0)) return
    for (const listener of this.#listeners) listener(change)
  }
}

const nothing: CatalogChange = { capabilities: [], prompts: [], views: [], updated: [] }

const toChange = ({ capabilities, prompts, views, templates }: EntryChanges): CatalogChange => ({
  capabilities: capabilities.flatMap(toDifferent),
  prompts: prompts.flatMap(toDifferent),
  views: [...views, ...templates].flatMap(toDifferent),
  updated: views.filter(({ present }) => !present).map(({ key }) => key),
})

/** What is shown to nobody makes no difference to anybody. */
function toDifferent<T extends Capability>({ former, present }: EntryChange<T>): T[] {
  if (isShown(former) && isShown(present) && isSame(former, present)) return []
  return [former, present].filter(isShown).map(({ capability }) => capability)
}

/** Between two snapshots that have nothing to do with each other. */
function toTurns(former: Snapshot, present: Snapshot): EntryChanges {
  const templates = (snapshot: Snapshot) =>
    new Map(snapshot.templates.map((entry) => [entry.capability.uri, entry]))
  return {
    capabilities: compareAll(former.capabilities, present.capabilities),
    prompts: compareAll(former.prompts, present.prompts),
    views: compareAll(former.views, present.views),
    templates: compareAll(templates(former), templates(present)),
  }
}

const compareAll = <T extends Capability>(
  former: ReadonlyMap<string, Entry<T>>,
  present: ReadonlyMap<string, Entry<T>>,
): EntryChange<T>[] =>
  [...new Set([...former.keys(), ...present.keys()])].map((key) => ({
    key,
    former: former.get(key),
    present: present.get(key),
  }))

const isSame = (a: Entry<Capability>, b: Entry<Capability>): boolean =>
  a.fingerprint === b.fingerprint

const isShown = <T extends Capability>(entry: Entry<T> | undefined): entry is Entry<T> =>
  entry !== undefined && entry.capability.hidden !== true

/** Milliseconds for calls on sources that were replaced, and for what is left when all is over. */
const longestCall = 10 * 60_000
const lastWords = 100

const closeAll = async (held: readonly HeldSource[], patience: number): Promise<void> => {
  await Promise.all(held.map((one) => one.close(patience)))
}
