/** Longer URIs match no template: bounds memory, together with the number of variables. */
const maxUriLength = 65_536

/**
 * Matches URIs against an RFC 6570 template as the SDK's UriTemplate does, in time linear in the
 * length of the URI: the SDK builds a regular expression that backtracks (ReDoS).
 */
export class UriTemplate {
  readonly #parts: readonly Part[]

  constructor(template: string) {
    this.#parts = [...template.matchAll(/\{([^}]*)\}|[^{]+|\{/g)].flatMap(([text, expression]) =>
      expression === undefined ? [{ literal: text }] : toParts(expression),
    )
  }

  /** The values of the variables, or undefined when the URI does not match. */
  match(uri: string): Record<string, string | string[]> | undefined {
    if (uri.length > maxUriLength) return undefined
    const tables = this.#toTables(uri)
    if (!tables[0]?.[0]) return undefined
    const variables: Record<string, string | string[]> = {}
    let at = 0
    for (const [index, part] of this.#parts.entries()) {
      if ('literal' in part) {
        at += part.literal.length
        continue
      }
      const end = findLongestEnd(uri, at, part, tables[index + 1] as Uint8Array)
      const value = uri.slice(at, end)
      variables[part.name] = part.isList && value.includes(',') ? value.split(',') : value
      at = end
    }
    return variables
  }

  /** For each part and position: 1 when the URI from there on matches this part and all later ones. */
  #toTables(uri: string): readonly Uint8Array[] {
    const end = new Uint8Array(uri.length + 2)
    end[uri.length] = 1
    const tables: Uint8Array[] = [end]
    for (const part of [...this.#parts].reverse()) {
      const following = tables[0] as Uint8Array
      tables.unshift(
        'literal' in part
          ? toLiteralTable(uri, part.literal, following)
          : toVariableTable(uri, part, following),
      )
    }
    return tables
  }
}

type Part = { readonly literal: string } | Variable

interface Variable {
  readonly name: string
  /** Characters that end a value. */
  readonly stops: string
  /** Exploded: several values, separated by commas. */
  readonly isList: boolean
}

function toParts(expression: string): readonly Part[] {
  const operator = /^[+#./?&]/.exec(expression)?.[0] ?? ''
  const names = expression
    .slice(operator.length)
    .split(',')
    .map((name) => name.replace('*', '').trim())
    .filter((name) => name !== '')
  if (operator === '?' || operator === '&')
    return names.flatMap((name, index) => [
      { literal: `${index === 0 ? operator : '&'}${name}=` },
      { name, stops: '&', isList: false },
    ])
  const [name = ''] = names
  if (operator === '+' || operator === '#')
    return [{ name, stops: '\n\r\u2028\u2029', isList: false }]
  const isList = operator !== '.' && expression.includes('*')
  return [
    ...(operator === '' ? [] : [{ literal: operator }]),
    { name, stops: isList ? '/' : '/,', isList },
  ]
}

function toLiteralTable(uri: string, literal: string, following: Uint8Array): Uint8Array {
  const table = new Uint8Array(uri.length + 2)
  for (let at = uri.indexOf(literal); at !== -1; at = uri.indexOf(literal, at + 1))
    table[at] = following[at + literal.length] as number
  return table
}

function toVariableTable(uri: string, variable: Variable, following: Uint8Array): Uint8Array {
  const table = new Uint8Array(uri.length + 2)
  for (let at = uri.length - 1; at >= 0; at--)
    if (accepts(uri, at, variable)) table[at] = following[at + 1] || (table[at + 1] as number)
  return table
}

/** Greedy, as a regular expression: the longest value after which the rest still matches. */
function findLongestEnd(
  uri: string,
  start: number,
  variable: Variable,
  following: Uint8Array,
): number {
  let longest = start
  for (let at = start; at < uri.length && accepts(uri, at, variable); at++)
    if (following[at + 1]) longest = at + 1
  return longest
}

/** A list has no empty items: a comma stands between two other characters. */
const accepts = (uri: string, at: number, { stops, isList }: Variable): boolean =>
  !stops.includes(uri.charAt(at)) &&
  !(isList && uri[at] === ',' && (isItemEnd(uri[at - 1]) || isItemEnd(uri[at + 1])))

const isItemEnd = (character: string | undefined): boolean =>
  character === undefined || character === ',' || character === '/'
