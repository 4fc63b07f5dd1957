import type { FieldType, Stream } from '../model/stream.ts'
import type { RecordEntry } from '../record-sink.ts'

/** Values that do not have their field's type: stored, but not filtered or aggregated. */
export interface TypeMismatch {
  readonly field: string
  readonly type: FieldType
  readonly count: number
  /** Line of the first one. */
  readonly line: number
}

export class TypeMismatches {
  readonly #byField = new Map<string, { count: number; line: number }>()

  add({ content }: RecordEntry, line: number): void {
    for (const field of content?.mismatches ?? []) {
      const existing = this.#byField.get(field)
      if (existing) existing.count += 1
      else this.#byField.set(field, { count: 1, line })
    }
  }

  list({ fields }: Stream): readonly TypeMismatch[] {
    return fields.flatMap(({ name, type }) => {
      const mismatch = this.#byField.get(name)
      return mismatch ? [{ field: name, type, ...mismatch }] : []
    })
  }
}
