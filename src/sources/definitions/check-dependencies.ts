import type { Origin } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'

type Dependencies = ReadonlyMap<
  string,
  { readonly origin: Origin; readonly names: readonly string[] }
>

/** Every name in `dependsOn` must exist in this source, and dependencies must not form a cycle. */
export function checkDependencies(dependencies: Dependencies): Diagnostic[] {
  return [...dependencies].flatMap(([name, { origin, names }]) => {
    const at = { source: origin.source, pointer: `${origin.pointer}/dependsOn` }
    const unknownDependencies = names
      .filter((dependency) => !dependencies.has(dependency))
      .map((dependency) => ({
        code: 'dependency_unknown',
        severity: 'error' as const,
        message: `${name} depends on ${dependency}, which this source does not have.`,
        ...at,
      }))
    const cycle = findCycle(name, dependencies)
    if (!cycle) return unknownDependencies
    const message = `${name} depends on itself: ${cycle.join(' → ')}.`
    return [
      ...unknownDependencies,
      { code: 'dependency_cycle', severity: 'error' as const, message, ...at },
    ]
  })
}

function findCycle(start: string, dependencies: Dependencies): string[] | undefined {
  const visited = new Set<string>()
  const follow = (name: string, path: readonly string[]): string[] | undefined => {
    for (const next of dependencies.get(name)?.names ?? []) {
      if (next === start) return [...path, next]
      if (visited.has(next)) continue
      visited.add(next)
      const cycle = follow(next, [...path, next])
      if (cycle) return cycle
    }
    return undefined
  }
  return follow(start, [start])
}
