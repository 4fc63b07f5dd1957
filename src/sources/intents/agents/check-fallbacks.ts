import type { Diagnostic } from '../../../capability/diagnostic.ts'
import type { Intent, Registry } from './registry.ts'

export interface FallbackCheck {
  readonly diagnostics: readonly Diagnostic[]
  /** Intents whose fallbacks lead back to where they began: they are not served. */
  readonly refused: ReadonlySet<Intent>
}

/** Whom a capability names as its fallback must exist, and must not lead back to itself. */
export function checkFallbacks(registry: Registry, source: string): FallbackCheck {
  const names = new Set(registry.agents.map(({ name }) => name))
  const unknown = registry.agents.flatMap((agent) =>
    agent.offers.flatMap(({ fallbackAgents = [], pointer }) =>
      fallbackAgents
        .filter((name) => !names.has(name))
        .map((name) => ({
          code: 'fallback_unknown',
          severity: 'warning' as const,
          message: `${agent.name} falls back to ${name}, which is not there.`,
          source,
          pointer: `${pointer}/fallbackAgents`,
        })),
    ),
  )
  const circles = registry.intents.flatMap((intent) => {
    const circle = findCircle(intent)
    if (!circle) return []
    const message = `${intent.name} ${intent.version} is left out: its fallbacks lead back to where they began: ${circle.join(' → ')}.`
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
    diagnostics: [...unknown, ...circles.map(({ diagnostic }) => diagnostic)],
    refused: new Set(circles.map(({ intent }) => intent)),
  }
}

function findCircle({ candidates }: Intent): readonly string[] | undefined {
  const next = new Map(
    candidates.map(({ agent, offer }) => [agent.name, offer.fallbackAgents ?? []]),
  )
  const sound = new Set<string>()
  const follow = (name: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
    if (sound.has(name)) return undefined
    for (const one of next.get(name) ?? []) {
      const circle = follow(one, [...path, name])
      if (circle) return circle
    }
    sound.add(name)
    return undefined
  }
  for (const name of next.keys()) {
    const circle = follow(name, [])
    if (circle) return circle
  }
  return undefined
}
