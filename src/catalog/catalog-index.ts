import type { Capability, Prompt, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { About, Reading } from '../capability/source.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { toListDifference } from './list-difference.ts'
import type { MountedReading } from './mounted-source.ts'
import { type NameClaim, toAddressedClaim, toNamedClaim } from './name-claim.ts'
import { type EntryChange, NameClaims } from './name-claims.ts'
import type { Naming } from './served-name.ts'
import type { Refine, Snapshot, SourceSummary } from './snapshot.ts'
import { type ServedTexts, serveAbout, type TextPolicy } from './text/serve-texts.ts'

/** The entries that changed, by kind. */
export interface EntryChanges {
  readonly capabilities: readonly EntryChange<Capability>[]
  readonly prompts: readonly EntryChange<Prompt>[]
  readonly views: readonly EntryChange<View>[]
  readonly templates: readonly EntryChange<View>[]
}

const emptyReading: Reading = { capabilities: [] }

export interface IndexOptions {
  readonly naming: Naming
  readonly refine: Refine
  readonly text: TextPolicy
}

/**
 * Everything the sources of a mount offer, updated incrementally: the work is proportional to the
 * entries that a new reading adds or removes.
 */
export class CatalogIndex {
  readonly #options: IndexOptions
  readonly #capabilities = new NameClaims<Capability>()
  readonly #prompts = new NameClaims<Prompt>()
  readonly #views = new NameClaims<View>()
  readonly #templates = new NameClaims<View>()
  readonly #claims = new WeakMap<Capability, NameClaim<Capability>>()
  readonly #readings = new Map<unknown, MountedReading>()
  readonly #abouts = new Map<unknown, ServedTexts<About>>()

  constructor(options: IndexOptions) {
    this.#options = options
  }

  /** Replaces the previous reading of the same source. */
  put(source: unknown, mountedReading: MountedReading): void {
    const former = this.#readings.get(source)
    if (former === mountedReading) return
    this.#readings.set(source, mountedReading)
    const [before, after] = [former?.reading ?? emptyReading, mountedReading.reading]
    if (before.about !== after.about) this.#abouts.set(source, this.#toAbout(mountedReading))
    const { prefix, track } = mountedReading
    const options = dropUndefined({ ...this.#options, prefix })
    const toNamed = <T extends Capability>(entry: T) => toNamedClaim(track(entry), options)
    const toAddressed = (view: View) => toAddressedClaim(track(view), options)
    this.#update(before.capabilities, after.capabilities, () => this.#capabilities, toNamed)
    this.#update(before.prompts ?? [], after.prompts ?? [], () => this.#prompts, toNamed)
    const selectMap = ({ uri }: View) => (uri.includes('{') ? this.#templates : this.#views)
    this.#update(before.views ?? [], after.views ?? [], selectMap, toAddressed)
  }

  applyChanges(): EntryChanges {
    return {
      capabilities: this.#capabilities.applyChanges(),
      prompts: this.#prompts.applyChanges(),
      views: this.#views.applyChanges(),
      templates: this.#templates.applyChanges(),
    }
  }

  toSnapshot(): Snapshot {
    const abouts = [...this.#abouts.values()]
    return Object.freeze({
      capabilities: this.#capabilities.entries,
      prompts: this.#prompts.entries,
      views: this.#views.entries,
      templates: [...this.#templates.entries.values()],
      diagnostics: [...this.#diagnose(), ...abouts.flatMap(({ diagnostics }) => diagnostics)].map(
        (diagnostic) => this.#locate(diagnostic),
      ),
      abouts: abouts.flatMap(({ served }) => served ?? []),
      sources: [...this.#readings].map(([source, reading]) =>
        toSummary(reading, this.#abouts.get(source)?.served),
      ),
    })
  }

  #toAbout({ source, reading }: MountedReading): ServedTexts<About> {
    if (!reading.about) return { diagnostics: [] }
    try {
      return serveAbout(reading.about, this.#options.text, source)
    } catch {
      const message = 'The description of the source is left out: it has no JSON representation.'
      const diagnostic = { code: 'definition_unusable', severity: 'error', message } as const
      return { diagnostics: [{ ...diagnostic, source, pointer: '' }] }
    }
  }

  #diagnose(): readonly Diagnostic[] {
    const claims = [this.#capabilities, this.#prompts, this.#views, this.#templates]
    return [
      ...[...this.#readings.values()].flatMap(({ diagnostics }) => diagnostics),
      ...claims.flatMap(({ diagnostics }) => diagnostics),
    ]
  }

  /** Adds the position of a finding about what a source declares, if the source knows it. */
  #locate(diagnostic: Diagnostic): Diagnostic {
    if (diagnostic.at !== undefined) return diagnostic
    for (const { source, reading } of this.#readings.values()) {
      const at = source === diagnostic.source ? reading.positionOf?.(diagnostic.pointer) : undefined
      if (at !== undefined) return { ...diagnostic, at }
    }
    return diagnostic
  }

  #update<T extends Capability>(
    before: readonly T[],
    after: readonly T[],
    selectMap: (capability: T) => NameClaims<T>,
    toClaim: (capability: T) => NameClaim<T>,
  ): void {
    const { removed, added } = toListDifference(before, after)
    for (const capability of removed) {
      const claim = this.#claims.get(capability) as NameClaim<T> | undefined
      if (claim) selectMap(capability).remove(claim)
    }
    for (const capability of added) {
      let claim = this.#claims.get(capability) as NameClaim<T> | undefined
      if (!claim) {
        claim = toClaim(capability)
        this.#claims.set(capability, claim)
      }
      selectMap(capability).add(claim)
    }
  }
}

const toSummary = (
  { source, reading }: MountedReading,
  about: About | undefined,
): SourceSummary => {
  const { surface, positionOf } = reading
  return { id: source, ...dropUndefined({ about, surface, positionOf }) }
}
