import type { FieldType, Stream } from '../model/stream.ts'
import type { RecordEntry } from './to-entry.ts'

/** Values of a field that are not of its type: they are kept, but neither filtered nor counted. */
export interface TypeMismatch {
  readonly field: string
  readonly type: FieldType
  readonly count: number
  /** The first of them. */
  readonly line: number
}

export class TypeMismatches {
  readonly #found = new Map<string, { count: number; line: number }>()

  add({ misfits }: RecordEntry, line: number): void {
    for (const field of misfits ?? []) {
      const known = this.#found.get(field)
      if (known) known.count += 1
      else this.#found.set(field, { count: 1, line })
    }
  }

  list({ fields }: Stream): readonly TypeMismatch[] {
    return fields.flatMap(({ name, type }) => {
      const found = this.#found.get(name)
      return found ? [{ field: name, type, ...found }] : []
    })
  }
}
