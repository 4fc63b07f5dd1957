import type { Capability, View } from '../capability/capability.ts'
import { CatalogIndex, type EntryChanges, type IndexOptions } from './catalog-index.ts'
import { History } from './history.ts'
import { MountedSource, type Placement, type SourceEvent } from './mounted-source.ts'
import type { EntryChange } from './name-claims.ts'
import type { Entry, Refine, Snapshot } from './snapshot.ts'

export type { Placement }

/** Changes within this time are read together, unless a client reads the catalog first. */
const coalesceMs = 5

const noRefine: Refine = (capability) => capability

/** New sources that have been read but do not serve yet. */
export interface Preparation {
  readonly snapshot: Snapshot
  commit(): Promise<void>
  discard(): Promise<void>
}

/** Added, removed and changed entries (old and new version), for subscribers that hold a list. */
export interface CatalogChange {
  readonly capabilities: readonly Capability[]
  readonly prompts: readonly Capability[]
  readonly views: readonly View[]
  /** URIs of views that have a new value or were removed. */
  readonly updated: readonly string[]
}

/** All sources of a mount as one immutable snapshot, replaced as a whole when a source changes. */
export class Catalog {
  #options: IndexOptions
  readonly #history = new History()
  readonly #listeners = new Set<(change: CatalogChange) => void>()
  #sources: MountedSource[] = []
  #readTimer: NodeJS.Timeout | undefined
  #index: CatalogIndex
  #snapshot: Snapshot

  private constructor(options: IndexOptions) {
    this.#options = options
    this.#index = new CatalogIndex(options)
    this.#snapshot = this.#index.toSnapshot()
  }

  static async open(
    placements: readonly Placement[],
    options: Partial<IndexOptions> = {},
  ): Promise<Catalog> {
    const catalog = new Catalog({ naming: 'portable', refine: noRefine, text: 'strip', ...options })
    const { commit } = await catalog.prepare(placements)
    await commit()
    return catalog
  }

  /** Includes all announced changes of sources that can be read synchronously. */
  get snapshot(): Snapshot {
    if (this.#readTimer) this.#readAnnounced()
    return this.#snapshot
  }

  subscribe(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The parts that differ between two served definitions of a name, if both are remembered. */
  compare(name: string, former: string, present: string): readonly string[] | undefined {
    return this.#history.compare(name, former, present)
  }

  /**
   * Reads new sources that replace all current ones on commit, with the policy to apply to them, so that
   * several catalogs can change together or not at all. Calls in flight finish on the sources they
   * started with.
   */
  async prepare(
    placements: readonly Placement[],
    policy: Partial<Omit<IndexOptions, 'naming'>> = {},
  ): Promise<Preparation> {
    const options = { ...this.#options, ...policy }
    const sources = placements.map(
      (placement) => new MountedSource(placement, (event) => this.#onSourceEvent(event)),
    )
    await Promise.all(sources.map((source) => source.read()))
    const index = new CatalogIndex(options)
    for (const source of sources) index.put(source, source.mountedReading)
    index.applyChanges()
    return {
      snapshot: index.toSnapshot(),
      discard: () => closeAll(sources, replacedSourceGraceMs),
      commit: () => {
        const former = this.#sources
        this.#sources = sources
        this.#options = options
        this.#index = index
        this.#publish(toEntryChanges(this.#snapshot, index.toSnapshot()))
        for (const source of sources) source.watch()
        return closeAll(former, replacedSourceGraceMs)
      },
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#stopTimer()
    await closeAll(this.#sources, shutdownGraceMs)
  }

  #onSourceEvent(event: SourceEvent): void {
    switch (event.kind) {
      case 'due':
        this.#readTimer ??= setTimeout(() => this.#readAnnounced(), coalesceMs)
        return
      case 'reading':
        return this.#update()
      case 'view':
        return this.#notify({ ...noChange, updated: [event.uri] })
    }
  }

  #readAnnounced(): void {
    this.#stopTimer()
    const before = this.#sources.map(({ mountedReading }) => mountedReading)
    for (const source of this.#sources) source.readNow()
    if (this.#sources.some(({ mountedReading }, index) => mountedReading !== before[index]))
      this.#update()
  }

  #stopTimer(): void {
    clearTimeout(this.#readTimer)
    this.#readTimer = undefined
  }

  #update(): void {
    for (const source of this.#sources) this.#index.put(source, source.mountedReading)
    this.#publish(this.#index.applyChanges())
  }

  #publish(changes: EntryChanges): void {
    this.#snapshot = this.#index.toSnapshot()
    this.#history.record(changes.capabilities)
    this.#notify(toCatalogChange(changes))
  }

  #notify(change: CatalogChange): void {
    if (Object.values(change).every((part) => part.length === 0)) return
    for (const listener of this.#listeners) listener(change)
  }
}

const noChange: CatalogChange = { capabilities: [], prompts: [], views: [], updated: [] }

const toCatalogChange = (changes: EntryChanges): CatalogChange => ({
  capabilities: changes.capabilities.flatMap(toVisibleChange),
  prompts: changes.prompts.flatMap(toVisibleChange),
  views: [...changes.views, ...changes.templates].flatMap(toVisibleChange),
  updated: changes.views.filter(({ present }) => !present).map(({ key }) => key),
})

/** Hidden entries are in no list, so their changes are not announced. */
function toVisibleChange<T extends Capability>({ former, present }: EntryChange<T>): T[] {
  if (isListed(former) && isListed(present) && isSame(former, present)) return []
  return [former, present].filter(isListed).map(({ capability }) => capability)
}

/** Compares two unrelated snapshots key by key. */
function toEntryChanges(former: Snapshot, present: Snapshot): EntryChanges {
  const byUri = ({ templates }: Snapshot) =>
    new Map(templates.map((entry) => [entry.capability.uri, entry]))
  return {
    capabilities: compareMaps(former.capabilities, present.capabilities),
    prompts: compareMaps(former.prompts, present.prompts),
    views: compareMaps(former.views, present.views),
    templates: compareMaps(byUri(former), byUri(present)),
  }
}

const compareMaps = <T extends Capability>(
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

const isListed = <T extends Capability>(entry: Entry<T> | undefined): entry is Entry<T> =>
  entry !== undefined && entry.capability.hidden !== true

/** How long closing waits for calls in flight: on replaced sources, and at shutdown. */
const replacedSourceGraceMs = 10 * 60_000
const shutdownGraceMs = 100

const closeAll = async (sources: readonly MountedSource[], graceMs: number): Promise<void> => {
  await Promise.all(sources.map((source) => source.close(graceMs)))
}
