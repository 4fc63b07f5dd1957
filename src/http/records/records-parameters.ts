import type { Scope } from '../../sources/records/grants/scope.ts'
import type { Field } from '../../sources/records/model/stream.ts'
import type { Warning } from '../../sources/records/query/record-page.ts'

/** What a query string says, as the read contract writes it. */
export interface Parameters {
  readonly one: (name: string) => string | undefined
  /** Repeated, or separated by commas. */
  readonly many: (name: string) => readonly string[] | undefined
  /** `filter[field]=v` and `filter[field][gte]=v`, with values of the fields' types there, or as text. */
  readonly filter: (scope?: Scope) => Record<string, unknown> | string | undefined
  readonly limits: Readonly<Record<string, number>> | undefined
  /** What was understood, but will not be for ever. */
  readonly warnings: readonly Warning[]
}

/** What a route understands. */
export interface ReadParameters {
  readonly parameters: readonly string[]
  /** Of parameters that are one of some words, which. */
  readonly words?: Readonly<Record<string, readonly string[]>>
}

interface Fault {
  readonly fault: string
  readonly code: 'invalid_request' | 'invalid_argument'
}

/** `name=value`, `name[key]=value` or `name[key][operator]=value`. */
interface Part {
  /** As it was written. */
  readonly whole: string
  readonly name: string
  readonly key?: string | undefined
  readonly operator?: string | undefined
  readonly value: string
}

/** Nothing is ever ignored: what is not understood is named. */
export function readParameters(query: string, understood: ReadParameters): Parameters | Fault {
  const parts = [...new URLSearchParams(query)].map(toPart)
  const fault = findFault(parts, understood)
  if (fault !== undefined) return { code: 'invalid_request', fault }
  const all = (name: string) =>
    parts.filter((part) => part.name === name && part.key === undefined).map(({ value }) => value)
  const [[id], [alias]] = [all('connection_id'), all(formerName)]
  if (id !== undefined && alias !== undefined && id !== alias)
    return {
      code: 'invalid_argument',
      fault: `connection_id and ${formerName} name different connections.`,
    }
  const limits = parts.filter(({ name }) => name === 'expand_limit')
  return {
    one: (name) => (name === 'connection_id' ? (id ?? alias) : all(name)[0]),
    warnings: alias === undefined ? [] : [formerNameUsed],
    many(name) {
      const values = all(name)
      if (values.length === 0) return undefined
      return values.flatMap((value) => value.split(',').filter((word) => word !== ''))
    },
    limits:
      limits.length === 0
        ? undefined
        : Object.fromEntries(limits.map(({ key, value }) => [key, Number(value)])),
    filter: (scope) => all('filter')[0] ?? toFilter(parts, scope),
  }
}

function toPart([whole, value]: readonly [string, string]): Part {
  const found = whole.endsWith('[]') ? null : /^(\w+)\[([^\]]*)\](?:\[(\w+)\])?$/.exec(whole)
  const [, name = whole, key, operator] = found ?? []
  return { whole, name, key, operator, value }
}

const lists = ['fields', 'expand', 'streams', 'streams[]']

function findFault(
  parts: readonly Part[],
  { parameters, words }: ReadParameters,
): string | undefined {
  const known = new Set(['connection_id', formerName, ...parameters])
  const seen = new Set<string>()
  for (const part of parts) {
    const { whole, name, value } = part
    if (!known.has(name)) return `Unsupported query parameter: ${name.slice(0, 100)}`
    const shown = whole.slice(0, 100)
    if (!hasItsForm(part)) return `Unsupported query parameter: ${shown}`
    if (seen.has(whole) && !lists.includes(name)) return `${shown} is there twice: say it once.`
    seen.add(whole)
    const meant = words?.[name]
    if (meant && !meant.includes(value)) return `${name} must be one of ${meant.join(', ')}.`
    if (name === 'expand_limit' && !/^0*[1-9]\d{0,8}$/.test(value))
      return `${shown} must be a whole number from 1.`
  }
  const mixed = parts.find(
    ({ name, key, operator }) =>
      name === 'filter' && operator !== undefined && seen.has(`filter[${key}]`),
  )
  return mixed && `filter[${mixed.key?.slice(0, 100)}] is a value or a range, not both.`
}

function hasItsForm({ name, key, operator }: Part): boolean {
  if (name === 'filter') return true
  return name === 'expand_limit' ? key !== undefined && operator === undefined : key === undefined
}

function toFilter(
  parts: readonly Part[],
  scope: Scope | undefined,
): Record<string, unknown> | undefined {
  const conditions = parts.filter(({ name }) => name === 'filter')
  if (conditions.length === 0) return undefined
  const filter: Record<string, unknown> = Object.create(null)
  for (const { key = '', operator, value } of conditions) {
    const typed = toTyped(scope?.fields.get(key), value)
    filter[key] =
      operator === undefined ? typed : { ...(filter[key] as object | undefined), [operator]: typed }
  }
  return filter
}

const formerName = 'connector_instance_id'

const formerNameUsed: Warning = {
  code: 'deprecated_alias_used',
  param: formerName,
  message: `${formerName} is called connection_id now.`,
}

/** A query string has only text: what it means is said by the field. */
function toTyped(field: Field | undefined, value: string): unknown {
  if (field?.type === 'number' || field?.type === 'integer')
    return value.trim() === '' ? value : Number(value)
  if (field?.type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  if (field?.type === 'date' || field?.type === 'date-time') return toZoned(value)
  return value
}

/** In an address a plus that is not escaped is a space; in a time only a zone can stand behind it. */
const toZoned = (time: string): string => time.replace(/(T.+) (\d{2}:?\d{2})$/, '$1+$2')

/** A part of an address as it was meant. */
export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
