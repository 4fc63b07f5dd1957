import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { byCodePoint } from '../capability/json.ts'
import type { NameClaim } from './name-claim.ts'
import type { Entry } from './snapshot.ts'
import { SortedMap } from './sorted-map.ts'

/** What was found by a key before, and what is now. */
export interface EntryChange<T extends Capability> {
  readonly key: string
  readonly former: Entry<T> | undefined
  readonly present: Entry<T> | undefined
}

/** Who claims which key. Where two claim one, neither silently wins: both are left out, and named. */
export class NameClaims<T extends Capability> {
  readonly #byKey = new Map<string, readonly NameClaim<T>[]>()
  readonly #contested = new Set<string>()
  readonly #remarked = new Set<NameClaim<T>>()
  readonly #touched = new Set<string>()
  #entries: SortedMap<Entry<T>> = SortedMap.from([])

  get entries(): SortedMap<Entry<T>> {
    return this.#entries
  }

  get diagnostics(): readonly Diagnostic[] {
    return [
      ...[...this.#remarked].flatMap(({ diagnostics }) => diagnostics),
      ...[...this.#contested]
        .sort(byCodePoint)
        .flatMap((key) => toCollision(key, this.#byKey.get(key) ?? [])),
    ]
  }

  add(claim: NameClaim<T>): void {
    if (claim.diagnostics.length > 0) this.#remarked.add(claim)
    if (claim.key !== undefined)
      this.#put(claim.key, [...(this.#byKey.get(claim.key) ?? []), claim])
  }

  remove(claim: NameClaim<T>): void {
    this.#remarked.delete(claim)
    if (claim.key === undefined) return
    const others = [...(this.#byKey.get(claim.key) ?? [])]
    others.splice(others.indexOf(claim), 1)
    this.#put(claim.key, others)
  }

  /** Brings the entries up to date with what was added and removed. */
  settle(): readonly EntryChange<T>[] {
    const differences = new Map<string, Entry<T> | undefined>()
    const turns: EntryChange<T>[] = []
    for (const key of this.#touched) {
      const [only, ...others] = this.#byKey.get(key) ?? []
      const present = others.length === 0 ? only?.entry : undefined
      const former = this.#entries.get(key)
      if (present === former) continue
      differences.set(key, present)
      turns.push({ key, former, present })
    }
    this.#touched.clear()
    this.#entries = this.#entries.with(differences)
    return turns
  }

  #put(key: string, claims: readonly NameClaim<T>[]): void {
    if (claims.length === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, claims)
    if (claims.length > 1) this.#contested.add(key)
    else this.#contested.delete(key)
    this.#touched.add(key)
  }
}

function toCollision(key: string, claims: readonly NameClaim<Capability>[]): Diagnostic[] {
  const places = claims
    .map(({ capability: { origin } }) => `${origin.source}#${origin.pointer}`)
    .join(' and ')
  const message = `${key} is declared by ${places}; none of them is served. Rename one, or give a source a prefix.`
  return claims.map(({ capability: { origin } }) => ({
    code: 'name_collision',
    severity: 'error',
    message,
    ...origin,
  }))
}
