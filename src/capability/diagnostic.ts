/** A finding about something that was loaded, for the operator: `check` and `serve` print it. */
export interface Diagnostic {
  /** Stable, in snake_case, such as `name_collision`. */
  readonly code: string
  /** An `error` leaves something out or makes `drawbridge check` fail. */
  readonly severity: 'error' | 'warning' | 'info'
  /** One sentence: what is wrong and what to do. */
  readonly message: string
  /** Id of the source. */
  readonly source: string
  /** JSON pointer into the source. */
  readonly pointer: string
  /** `file:line:column`, when known. */
  readonly at?: string
  /**
   * Equal for diagnostics that differ only in what they are about, such as the same unknown field in
   * many tools: they are printed as one line with a count. Default: the message.
   */
  readonly alike?: string
}

/** Diagnostics of one file that say the same: the first of them, and how many there are. */
export interface AlikeDiagnostics {
  readonly first: Diagnostic
  readonly count: number
}

/** Groups the diagnostics that say the same about one file, in the order of the first of each group. */
export function groupAlike(diagnostics: readonly Diagnostic[]): readonly AlikeDiagnostics[] {
  const groups = new Map<string, { first: Diagnostic; count: number }>()
  for (const one of diagnostics) {
    const { severity, code, source, alike = one.message } = one
    const key = JSON.stringify([severity, code, source, toFile(one), alike])
    const group = groups.get(key)
    if (group) group.count++
    else groups.set(key, { first: one, count: 1 })
  }
  return [...groups.values()]
}

const toFile = ({ at = '' }: Diagnostic): string => at.replace(/(:\d+){1,2}$/, '')
