type Dependencies = ReadonlyMap<string, { readonly names: readonly string[] }>

export interface DependencyFault {
  /** The tool that has the dependency. */
  readonly tool: string
  readonly code: 'dependency_unknown' | 'dependency_cycle'
  readonly message: string
}

/** Every name in `dependsOn` must exist in this source, and dependencies must not form a cycle. */
export function checkDependencies(dependencies: Dependencies): DependencyFault[] {
  return [...dependencies].flatMap(([tool, { names }]) => {
    const unknownDependencies = names
      .filter((dependency) => !dependencies.has(dependency))
      .map((dependency) => ({
        tool,
        code: 'dependency_unknown' as const,
        message: `${tool} depends on ${dependency}, which this source does not have.`,
      }))
    const cycle = findCycle(tool, dependencies)
    if (!cycle) return unknownDependencies
    const message = `${tool} depends on itself: ${cycle.join(' → ')}.`
    return [...unknownDependencies, { tool, code: 'dependency_cycle' as const, message }]
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
