import type { Value } from './sqlite.ts'

/** Tables: records, words, changes, gone, segments, their columns, stale ones; then fields and words. */
type Letter = 'r' | 's' | 'h' | 'd' | 'g' | 'c' | 'x' | 'f'

/** A piece of a statement. Only `sql` and `id` make one, so no text from outside can be part of it. */
export class Sql {
  readonly text: string
  readonly values: readonly Value[]

  private constructor(text: string, values: readonly Value[]) {
    this.text = text
    this.values = values
  }

  /** Pieces are put in, values become parameters. */
  static readonly of = (strings: TemplateStringsArray, ...parts: readonly (Sql | Value)[]): Sql => {
    let text = strings[0] ?? ''
    const values: Value[] = []
    parts.forEach((part, index) => {
      if (part instanceof Sql) {
        text += part.text
        values.push(...part.values)
      } else {
        text += '?'
        values.push(part)
      }
      text += strings[index + 1] ?? ''
    })
    return new Sql(text, values)
  }

  /** A table or a column: a letter of ours and a number of the catalogue. */
  static readonly id = (letter: Letter, n: number): Sql => {
    if (!Number.isSafeInteger(n) || n < 0) throw new Error(`${n} is no number of the catalogue`)
    return new Sql(`${letter}${n}`, [])
  }

  static readonly join = (parts: readonly Sql[], between: ' and ' | ', '): Sql =>
    new Sql(
      parts.map(({ text }) => text).join(between),
      parts.flatMap(({ values }) => values),
    )
}

export const { of: sql, id, join } = Sql

/** Asks a statement for all its rows. */
export type All = <Found>(query: Sql) => Found[]
