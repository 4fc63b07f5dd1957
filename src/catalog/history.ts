import canonicalize from 'canonicalize'
import type { Capability } from '../capability/capability.ts'
import { toRelied } from './fingerprint.ts'
import type { EntryChange } from './name-claims.ts'

/** Definitions, not tools: enough for a day of edits. */
const most = 20_000

/** Definitions that were served, so that a client that knows an old one can be told what changed. */
export class History {
  /** What was relied on, and not the capability: that would keep alive all it was made from. */
  readonly #served = new Map<string, ReturnType<typeof toRelied>>()

  keep(turns: readonly EntryChange<Capability>[]): void {
    for (const { key, present } of turns)
      if (present) this.#served.set(`${present.fingerprint} ${key}`, toRelied(present.capability))
    for (const key of this.#served.keys()) {
      if (this.#served.size <= most) return
      this.#served.delete(key)
    }
  }

  compare(name: string, former: string, present: string): readonly string[] | undefined {
    const old = this.#served.get(`${former} ${name}`)
    const current = this.#served.get(`${present} ${name}`)
    if (!old || !current) return undefined
    return (Object.keys(current) as (keyof typeof current)[]).filter(
      (part) => canonicalize(old[part] ?? null) !== canonicalize(current[part] ?? null),
    )
  }
}
