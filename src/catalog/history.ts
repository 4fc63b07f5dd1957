import canonicalize from 'canonicalize'
import type { Capability } from '../capability/capability.ts'
import { toRelied } from './fingerprint.ts'
import type { Snapshot } from './snapshot.ts'

/** Definitions, not tools: enough for a day of edits. */
const most = 20_000

/** Definitions that were served, so that a client that knows an old one can be told what changed. */
export class History {
  readonly #served = new Map<string, Capability>()

  keep({ capabilities }: Snapshot): void {
    for (const [name, { capability, fingerprint }] of capabilities)
      this.#served.set(`${fingerprint} ${name}`, capability)
    for (const key of this.#served.keys()) {
      if (this.#served.size <= most) return
      this.#served.delete(key)
    }
  }

  compare(name: string, former: string, present: string): readonly string[] | undefined {
    const before = this.#served.get(`${former} ${name}`)
    const now = this.#served.get(`${present} ${name}`)
    if (!before || !now) return undefined
    const [old, current] = [toRelied(before), toRelied(now)]
    return (Object.keys(current) as (keyof typeof current)[]).filter(
      (part) => canonicalize(old[part] ?? null) !== canonicalize(current[part] ?? null),
    )
  }
}
