import type { Value } from './sqlite.ts'

/**
 * A fragment of a statement and its parameters. Only the templates `sql` and `name` make one, so no text
 * from outside can become SQL (SQL injection).
 */
export class Sql {
  readonly text: string
  readonly values: readonly Value[]

  private constructor(text: string, values: readonly Value[]) {
    this.text = text
    this.values = values
  }

  /** Embeds fragments; every other value becomes a parameter. */
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

  /** The name of a table, a column or an index: literal text and numbers of the catalog. */
  static readonly name = (strings: TemplateStringsArray, ...numbers: readonly number[]): Sql => {
    for (const number of numbers)
      if (!Number.isSafeInteger(number) || number < 0)
        throw new Error(`${number} is not a catalog number`)
    return new Sql(String.raw(strings, ...numbers), [])
  }

  static readonly join = (parts: readonly Sql[], separator: ' and ' | ', '): Sql =>
    new Sql(
      parts.map(({ text }) => text).join(separator),
      parts.flatMap(({ values }) => values),
    )

  /** Allows names in plain template strings: statements without parameters, such as `create table`. */
  toString(): string {
    if (this.values.length > 0) throw new Error('A fragment with parameters cannot become text')
    return this.text
  }
}

export const { of: sql, name, join } = Sql

/** Runs a query and returns all its rows. */
export type All = <Row>(query: Sql) => Row[]
