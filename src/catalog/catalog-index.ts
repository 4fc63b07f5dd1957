import type { Capability, Prompt, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Reading } from '../capability/source.ts'
import type { HeldReading } from './held-source.ts'
import { toListDifference } from './list-difference.ts'
import { type NameClaim, toAddressedClaim, toNamedClaim } from './name-claim.ts'
import { type EntryChange, NameClaims } from './name-claims.ts'
import type { Naming } from './served-name.ts'
import type { Refine, Snapshot } from './snapshot.ts'

/** What is found by other keys than before, part by part. */
export interface EntryChanges {
  readonly capabilities: readonly EntryChange<Capability>[]
  readonly prompts: readonly EntryChange<Prompt>[]
  readonly views: readonly EntryChange<View>[]
  readonly templates: readonly EntryChange<View>[]
}

const nothingRead: Reading = { capabilities: [] }

/**
 * All that the sources of a mount offer, kept up as their readings change: only what has come or gone
 * since is looked at.
 */
export class CatalogIndex {
  readonly #naming: Naming
  readonly #refine: Refine
  readonly #capabilities = new NameClaims<Capability>()
  readonly #prompts = new NameClaims<Prompt>()
  readonly #views = new NameClaims<View>()
  readonly #templates = new NameClaims<View>()
  readonly #claims = new WeakMap<Capability, NameClaim<Capability>>()
  readonly #readings = new Map<unknown, HeldReading>()

  constructor(naming: Naming, refine: Refine) {
    this.#naming = naming
    this.#refine = refine
  }

  /** Takes a reading in place of the last one of the same holder. */
  put(holder: unknown, held: HeldReading): void {
    const former = this.#readings.get(holder)
    if (former === held) return
    this.#readings.set(holder, held)
    const [before, now] = [former?.reading ?? nothingRead, held.reading]
    const { prefix, count } = held
    const terms = {
      ...(prefix !== undefined && { prefix }),
      naming: this.#naming,
      refine: this.#refine,
    }
    const named = <T extends Capability>(one: T) => toNamedClaim(count(one), terms)
    const addressed = (view: View) => toAddressedClaim(count(view), terms)
    this.#exchange(before.capabilities, now.capabilities, () => this.#capabilities, named)
    this.#exchange(before.prompts ?? [], now.prompts ?? [], () => this.#prompts, named)
    const shelf = ({ uri }: View) => (uri.includes('{') ? this.#templates : this.#views)
    this.#exchange(before.views ?? [], now.views ?? [], shelf, addressed)
  }

  settle(): EntryChanges {
    return {
      capabilities: this.#capabilities.settle(),
      prompts: this.#prompts.settle(),
      views: this.#views.settle(),
      templates: this.#templates.settle(),
    }
  }

  toSnapshot(): Snapshot {
    return Object.freeze({
      capabilities: this.#capabilities.entries,
      prompts: this.#prompts.entries,
      views: this.#views.entries,
      templates: [...this.#templates.entries.values()],
      diagnostics: this.#diagnose(),
      abouts: [...this.#readings.values()].flatMap(({ reading }) => reading.about ?? []),
    })
  }

  #diagnose(): readonly Diagnostic[] {
    const all = [this.#capabilities, this.#prompts, this.#views, this.#templates]
    return [
      ...[...this.#readings.values()].flatMap(({ diagnostics }) => diagnostics),
      ...all.flatMap(({ diagnostics }) => diagnostics),
    ]
  }

  #exchange<T extends Capability>(
    before: readonly T[],
    now: readonly T[],
    shelf: (capability: T) => NameClaims<T>,
    make: (capability: T) => NameClaim<T>,
  ): void {
    const { gone, come } = toListDifference(before, now)
    for (const capability of gone) {
      const claim = this.#claims.get(capability) as NameClaim<T> | undefined
      if (claim) shelf(capability).remove(claim)
    }
    for (const capability of come) {
      let claim = this.#claims.get(capability) as NameClaim<T> | undefined
      if (!claim) {
        claim = make(capability)
        this.#claims.set(capability, claim)
      }
      shelf(capability).add(claim)
    }
  }
}
