import type { Diagnostic } from '../../../capability/diagnostic.ts'
import type { Intent, Registry } from './registry.ts'

export interface FallbackCheck {
  readonly diagnostics: readonly Diagnostic[]
  /** Intents with a fallback cycle: they are not served. */
  readonly cyclicIntents: ReadonlySet<Intent>
}

/** Checks that the fallbacks a capability names exist and contain no cycle. */
export function checkFallbacks(registry: Registry, source: string): FallbackCheck {
  const names = new Set(registry.agents.map(({ name }) => name))
  const unknownFallbacks = registry.agents.flatMap((agent) =>
    agent.offers.flatMap(({ fallbackAgents = [], pointer }) =>
      fallbackAgents
        .filter((name) => !names.has(name))
        .map((name) => ({
          code: 'fallback_unknown',
          severity: 'warning' as const,
          message: `The agent ${agent.name} falls back to ${name}, which does not exist.`,
          source,
          pointer: `${pointer}/fallbackAgents`,
        })),
    ),
  )
  const cycles = registry.intents.flatMap((intent) => {
    const cycle = findCycle(intent)
    if (!cycle) return []
    const message = `The intent ${intent.name} ${intent.version} is not served: its fallbacks form a cycle: ${cycle.join(' → ')}.`
    const pointer = `${intent.candidates[0]?.offer.pointer ?? ''}/fallbackAgents`
    const diagnostic: Diagnostic = {
      code: 'fallback_cycle',
      severity: 'error',
      message,
      source,
      pointer,
    }
    return [{ intent, diagnostic }]
  })
  return {
    diagnostics: [...unknownFallbacks, ...cycles.map(({ diagnostic }) => diagnostic)],
    cyclicIntents: new Set(cycles.map(({ intent }) => intent)),
  }
}

/** Depth-first search; `acyclic` holds agents from which no cycle can be reached. */
function findCycle({ candidates }: Intent): readonly string[] | undefined {
  const fallbacks = new Map(
    candidates.map(({ agent, offer }) => [agent.name, offer.fallbackAgents ?? []]),
  )
  const acyclic = new Set<string>()
  const visit = (name: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
    if (acyclic.has(name)) return undefined
    for (const fallback of fallbacks.get(name) ?? []) {
      const cycle = visit(fallback, [...path, name])
      if (cycle) return cycle
    }
    acyclic.add(name)
    return undefined
  }
  for (const name of fallbacks.keys()) {
    const cycle = visit(name, [])
    if (cycle) return cycle
  }
  return undefined
}
