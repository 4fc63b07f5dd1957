import type { Diagnostic } from '../../capability/diagnostic.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import type { LoadedModule } from '../loaded-module.ts'
import { findPosition, type Target } from './positions/find-position.ts'

/** Where a finding is: in a module, and in a definition of it. */
export interface Place extends Omit<Target, 'field'> {
  readonly module: LoadedModule
}

/** `file:line:column` of a definition or of one of its fields, when its module is a file. */
export const toPosition = (place: Place, field: readonly string[] = []): string | undefined =>
  findPosition(place.module.readTexts?.() ?? [], { ...place, field })

/** The keys of a definition and of the objects in it, such as `function` of OpenAI's. */
export const keysOf = (definition: object): readonly string[] => [
  ...Object.keys(definition),
  ...Object.values(definition).flatMap((part) => (isPlainObject(part) ? Object.keys(part) : [])),
]

export interface Finding {
  readonly severity: Diagnostic['severity']
  readonly code: string
  readonly message: string
  readonly place: Place
  /** The field of the definition in the module's own words. */
  readonly field?: readonly string[]
  readonly alike?: string | undefined
}

/** Collects what is found while definitions are read; positions are looked up for what is reported only. */
export class Findings {
  readonly #source: string
  readonly #entries: (Finding | Diagnostic)[] = []

  constructor(source: string) {
    this.#source = source
  }

  add(finding: Finding): void {
    this.#entries.push(finding)
  }

  addDiagnostics(diagnostics: readonly Diagnostic[]): void {
    this.#entries.push(...diagnostics)
  }

  toDiagnostics(): readonly Diagnostic[] {
    return this.#entries.map((entry) => {
      if (!('place' in entry)) return entry
      const { severity, code, message, place, field = [], alike } = entry
      const { module, path } = place
      const segments = [...(module.file === '' ? [] : [module.file]), ...path, ...field]
      return {
        code,
        severity,
        message,
        source: this.#source,
        pointer: toPointer(segments),
        ...dropUndefined({ at: toPosition(place, field), alike }),
      }
    })
  }
}
