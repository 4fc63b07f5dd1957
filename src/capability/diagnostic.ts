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
}
