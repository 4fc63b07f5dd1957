import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { byCodeUnit } from '../json/by-code-unit.ts'
import type { NameClaim } from './name-claim.ts'
import type { Entry } from './snapshot.ts'
import { SortedMap } from './sorted-map.ts'

/** The entry of one key before and after a change. */
export interface EntryChange<T extends Capability> {
  readonly key: string
  readonly former: Entry<T> | undefined
  readonly present: Entry<T> | undefined
}

/** All claims by key. On a collision no claim wins silently: none is served, all are reported. */
export class NameClaims<T extends Capability> {
  readonly #byKey = new Map<string, readonly NameClaim<T>[]>()
  readonly #contested = new Set<string>()
  readonly #withDiagnostics = new Set<NameClaim<T>>()
  readonly #byLookAlike = new Map<string, Set<NameClaim<T>>>()
  readonly #confusable = new Set<string>()
  readonly #touched = new Set<string>()
  #entries: SortedMap<Entry<T>> = SortedMap.from([])

  get entries(): SortedMap<Entry<T>> {
    return this.#entries
  }

  get diagnostics(): readonly Diagnostic[] {
    return [
      ...[...this.#withDiagnostics].flatMap(({ diagnostics }) => diagnostics),
      ...[...this.#contested]
        .sort(byCodeUnit)
        .flatMap((key) => toCollision(key, this.#byKey.get(key) ?? [])),
      ...[...this.#confusable]
        .sort(byCodeUnit)
        .flatMap((key) => toConfusion([...(this.#byLookAlike.get(key) ?? [])])),
    ]
  }

  add(claim: NameClaim<T>): void {
    if (claim.diagnostics.length > 0) this.#withDiagnostics.add(claim)
    this.#compareLooks(claim, (twins) => twins.add(claim))
    if (claim.key !== undefined)
      this.#put(claim.key, [...(this.#byKey.get(claim.key) ?? []), claim])
  }

  remove(claim: NameClaim<T>): void {
    this.#withDiagnostics.delete(claim)
    this.#compareLooks(claim, (twins) => twins.delete(claim))
    if (claim.key === undefined) return
    const others = [...(this.#byKey.get(claim.key) ?? [])]
    others.splice(others.indexOf(claim), 1)
    this.#put(claim.key, others)
  }

  /** Updates the entries after additions and removals. */
  applyChanges(): readonly EntryChange<T>[] {
    const differences = new Map<string, Entry<T> | undefined>()
    const changes: EntryChange<T>[] = []
    for (const key of this.#touched) {
      const [claim, ...others] = this.#byKey.get(key) ?? []
      const present = others.length === 0 ? claim?.entry : undefined
      const former = this.#entries.get(key)
      if (present === former) continue
      differences.set(key, present)
      changes.push({ key, former, present })
    }
    this.#touched.clear()
    this.#entries = this.#entries.with(differences)
    return changes
  }

  #compareLooks({ lookAlike }: NameClaim<T>, change: (twins: Set<NameClaim<T>>) => void): void {
    if (lookAlike === undefined) return
    const twins = this.#byLookAlike.get(lookAlike) ?? new Set()
    change(twins)
    if (twins.size === 0) this.#byLookAlike.delete(lookAlike)
    else this.#byLookAlike.set(lookAlike, twins)
    if (twins.size > 1) this.#confusable.add(lookAlike)
    else this.#confusable.delete(lookAlike)
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
  const origins = claims
    .map(({ capability: { origin } }) => `${origin.source}#${origin.pointer}`)
    .join(' and ')
  const message = `${key} is declared by ${origins}; none of them is served. Rename one, or give a source a prefix.`
  return claims.map(({ capability: { origin } }) => ({
    code: 'name_collision',
    severity: 'error',
    message,
    ...origin,
  }))
}

/** Names that look alike are served, because they differ; equal ones are a collision. */
function toConfusion(claims: readonly NameClaim<Capability>[]): Diagnostic[] {
  const byKey = new Map(claims.map((claim) => [claim.key ?? '', claim]))
  if (byKey.size < 2) return []
  const sorted = [...byKey].sort(([a], [b]) => byCodeUnit(a, b))
  const list = sorted
    .map(([key, { capability }]) => `${key} (${JSON.stringify(capability.origin.name ?? key)})`)
    .join(' and ')
  const message = `${list} look alike: a model or a person can mistake one for the other. Rename one, or give a source a prefix.`
  return sorted.map(([, { capability }]) => ({
    code: 'name_look_alike',
    severity: 'warning',
    message,
    ...capability.origin,
  }))
}
