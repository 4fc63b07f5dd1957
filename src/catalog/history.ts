import canonicalize from 'canonicalize'
import type { Capability } from '../capability/capability.ts'
import { toDefinition } from '../capability/definition.ts'
import type { EntryChange } from './name-claims.ts'

/** Enough for a day of edits; the oldest definitions are evicted first. */
const maxDefinitions = 20_000

/** Served definitions by fingerprint, to tell a client with an old one what changed. */
export class History {
  /** Definitions instead of capabilities: those would keep closures of their source alive. */
  readonly #definitions = new Map<string, ReturnType<typeof toDefinition>>()

  record(changes: readonly EntryChange<Capability>[]): void {
    for (const { key, present } of changes)
      if (present)
        this.#definitions.set(`${present.fingerprint} ${key}`, toDefinition(present.capability))
    for (const key of this.#definitions.keys()) {
      if (this.#definitions.size <= maxDefinitions) return
      this.#definitions.delete(key)
    }
  }

  compare(name: string, former: string, present: string): readonly string[] | undefined {
    const old = this.#definitions.get(`${former} ${name}`)
    const current = this.#definitions.get(`${present} ${name}`)
    if (!old || !current) return undefined
    return (Object.keys(current) as (keyof typeof current)[]).filter(
      (part) => canonicalize(old[part] ?? null) !== canonicalize(current[part] ?? null),
    )
  }
}
