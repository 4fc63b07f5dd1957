/** Something the operator should know about what was loaded. */
export interface Diagnostic {
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  /** The source, then a JSON pointer into it. */
  readonly source: string
  readonly pointer: string
  /** `file:line:column` where it is known. */
  readonly at?: string
}
