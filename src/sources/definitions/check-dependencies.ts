import type { Origin } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'

type Dependencies = ReadonlyMap<
  string,
  { readonly origin: Origin; readonly names: readonly string[] }
>

/** What `dependsOn` names must exist, and must not come back to where it started. */
export function checkDependencies(dependencies: Dependencies): Diagnostic[] {
  return [...dependencies].flatMap(([name, { origin, names }]) => {
    const at = { source: origin.source, pointer: `${origin.pointer}/dependsOn` }
    const unknown = names
      .filter((needed) => !dependencies.has(needed))
      .map((needed) => ({
        code: 'dependency_unknown',
        severity: 'error' as const,
        message: `${name} depends on ${needed}, which this source does not have.`,
        ...at,
      }))
    const circle = findCircle(name, dependencies)
    if (!circle) return unknown
    const message = `${name} depends on itself: ${circle.join(' → ')}.`
    return [...unknown, { code: 'dependency_cycle', severity: 'error' as const, message, ...at }]
  })
}

function findCircle(start: string, dependencies: Dependencies): string[] | undefined {
  const visited = new Set<string>()
  const follow = (name: string, path: readonly string[]): string[] | undefined => {
    for (const next of dependencies.get(name)?.names ?? []) {
      if (next === start) return [...path, next]
      if (visited.has(next)) continue
      visited.add(next)
      const circle = follow(next, [...path, next])
      if (circle) return circle
    }
    return undefined
  }
  return follow(start, [start])
}
