import { toPointer } from '../capability/contract.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'

/** Somebody's module after it was loaded, or why it was not. */
export interface LoadedModule {
  readonly file: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly error?: string
  /** `file:line:column` of the error, where it is known. */
  readonly at?: string
  /** What it wrote to standard output while it was loaded. */
  readonly printed?: string
}

/** What there is to say about a module, whatever it exports. */
export function toModuleDiagnostics(module: LoadedModule, source: string): Diagnostic[] {
  const { file, error, at, printed } = module
  const place = { source, pointer: toPointer(file === '' ? [] : [file]) }
  if (error !== undefined) {
    const message = `${file} does not load: ${error}`
    const broken = { code: 'module_broken', severity: 'error' as const, message, ...place }
    return [at === undefined ? broken : { ...broken, at }]
  }
  if (printed === undefined) return []
  const message = `${file} writes to standard output while it loads; it was sent to standard error.`
  return [{ code: 'module_prints', severity: 'warning', message, ...place }]
}
