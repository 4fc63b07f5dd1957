import type { Diagnostic } from '../capability/diagnostic.ts'
import { toPointer } from '../json/to-pointer.ts'

/** A user's module: its exports, or the error from loading it. */
export interface LoadedModule {
  /** Path of the module, for diagnostics. */
  readonly file: string
  /** Exports by name; empty if loading failed. */
  readonly exports: Readonly<Record<string, unknown>>
  /** Why loading failed. */
  readonly error?: string
  /** `file:line:column` of the error, when known. */
  readonly at?: string
  /** Output written to stdout while loading. */
  readonly printed?: string
  /** Digest of the module and of the files it imports. */
  readonly code?: string
  /** Reads the module and the files it imports, itself first, to find the lines of diagnostics. */
  readonly readTexts?: () => readonly ModuleText[]
}

/** A file of a module. */
export interface ModuleText {
  /** Path of the file, as `at` in diagnostics begins. */
  readonly file: string
  /** Its content. */
  readonly text: string
}

/** Diagnostics about loading a module, independent of what it exports. */
export function toModuleDiagnostics(module: LoadedModule, source: string): Diagnostic[] {
  const { file, error, at, printed } = module
  const location = { source, pointer: toPointer(file === '' ? [] : [file]) }
  if (error !== undefined) {
    const message = `${file} does not load: ${error}`
    const diagnostic = { code: 'module_broken', severity: 'error' as const, message, ...location }
    return [at === undefined ? diagnostic : { ...diagnostic, at }]
  }
  if (printed === undefined) return []
  const message = `${file} writes to standard output while it loads; the output was redirected to standard error.`
  return [{ code: 'module_prints', severity: 'warning', message, ...location }]
}
