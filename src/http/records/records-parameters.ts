import type { Fault } from '../../capability/fault.ts'
import type { Scope } from '../../sources/records/model/scope.ts'
import type { Field } from '../../sources/records/model/stream.ts'
import type { Warning } from '../../sources/records/query/record-page.ts'

/** A parsed query string of the read contract. */
export interface QueryParameters {
  readonly one: (name: string) => string | undefined
  /** The values of a parameter that is repeated or separated by commas. */
  readonly many: (name: string) => readonly string[] | undefined
  /**
   * `filter[field]=v` and `filter[field][gte]=v`. Values get the types of the scope's fields;
   * without a scope they stay text. A bare `filter=…` is returned as it is.
   */
  readonly filter: (scope?: Scope) => Record<string, unknown> | string | undefined
  /** `expand_limit[relation]=n` */
  readonly limits: Readonly<Record<string, number>> | undefined
  /** Deprecated names that were used. */
  readonly warnings: readonly Warning[]
}

/** The parameters that a route supports. */
export interface ParameterSpec {
  readonly parameters: readonly string[]
  /** The allowed values of enumerated parameters. */
  readonly allowedValues?: Readonly<Record<string, readonly string[]>>
}

interface ParameterFault extends Fault {
  readonly code: 'invalid_request' | 'invalid_argument'
}

/** `name=value`, `name[key]=value` or `name[key][operator]=value`. */
interface Part {
  /** The name with its brackets. */
  readonly fullName: string
  readonly name: string
  readonly key?: string | undefined
  readonly operator?: string | undefined
  readonly value: string
}

/** Unknown parameters are errors: ignoring a misspelt filter would return too many records. */
export function readParameters(
  query: string,
  spec: ParameterSpec,
): QueryParameters | ParameterFault {
  const parts = [...new URLSearchParams(query)].map(toPart)
  const fault = findFault(parts, spec)
  if (fault !== undefined) return { code: 'invalid_request', fault }
  const all = (name: string) =>
    parts.filter((part) => part.name === name && part.key === undefined).map(({ value }) => value)
  const [[id], [alias]] = [all('connection_id'), all(deprecatedName)]
  if (id !== undefined && alias !== undefined && id !== alias)
    return {
      code: 'invalid_argument',
      fault: `connection_id and ${deprecatedName} name different connections.`,
    }
  const limits = parts.filter(({ name }) => name === 'expand_limit')
  return {
    one: (name) => (name === 'connection_id' ? (id ?? alias) : all(name)[0]),
    warnings: alias === undefined ? [] : [deprecatedNameUsed],
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

function toPart([fullName, value]: readonly [string, string]): Part {
  const match = fullName.endsWith('[]') ? null : /^(\w+)\[([^\]]*)\](?:\[(\w+)\])?$/.exec(fullName)
  const [, name = fullName, key, operator] = match ?? []
  return { fullName, name, key, operator, value }
}

const repeatable = ['fields', 'expand', 'streams', 'streams[]']

function findFault(
  parts: readonly Part[],
  { parameters, allowedValues }: ParameterSpec,
): string | undefined {
  const supported = new Set(['connection_id', deprecatedName, ...parameters])
  const seen = new Set<string>()
  for (const part of parts) {
    const { fullName, name, value } = part
    if (!supported.has(name)) return `Unsupported query parameter: ${name.slice(0, 100)}`
    const label = fullName.slice(0, 100)
    if (!hasValidBrackets(part)) return `Unsupported query parameter: ${label}`
    if (seen.has(fullName) && !repeatable.includes(name))
      return `Query parameter ${label} is repeated: send it once.`
    seen.add(fullName)
    const allowed = allowedValues?.[name]
    if (allowed && !allowed.includes(value)) return `${name} must be one of ${allowed.join(', ')}.`
    if (name === 'expand_limit' && !/^0*[1-9]\d{0,8}$/.test(value))
      return `${label} must be a whole number from 1.`
  }
  const conflict = parts.find(
    ({ name, key, operator }) =>
      name === 'filter' && operator !== undefined && seen.has(`filter[${key}]`),
  )
  return conflict && `filter[${conflict.key?.slice(0, 100)}] must be a value or a range, not both.`
}

function hasValidBrackets({ name, key, operator }: Part): boolean {
  if (name === 'filter') return true
  return name === 'expand_limit' ? key !== undefined && operator === undefined : key === undefined
}

function toFilter(
  parts: readonly Part[],
  scope: Scope | undefined,
): Record<string, unknown> | undefined {
  const conditions = parts.filter(({ name }) => name === 'filter')
  if (conditions.length === 0) return undefined
  // Prototype pollution: a field may be called `__proto__`.
  const filter: Record<string, unknown> = Object.create(null)
  for (const { key = '', operator, value } of conditions) {
    const typedValue = toTyped(scope?.fields.get(key), value)
    filter[key] =
      operator === undefined
        ? typedValue
        : { ...(filter[key] as object | undefined), [operator]: typedValue }
  }
  return filter
}

const deprecatedName = 'connector_instance_id'

const deprecatedNameUsed: Warning = {
  code: 'deprecated_alias_used',
  param: deprecatedName,
  message: `${deprecatedName} is deprecated: use connection_id.`,
}

/** Converts a value to the type of its field, because a query string has only text. */
function toTyped(field: Field | undefined, value: string): unknown {
  if (field?.type === 'number' || field?.type === 'integer')
    return value.trim() === '' ? value : Number(value)
  if (field?.type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  if (field?.type === 'date' || field?.type === 'date-time') return toZoned(value)
  return value
}

/** Restores the plus sign of a time zone offset: an unescaped `+` in a query string is a space. */
const toZoned = (time: string): string => time.replace(/(T[\d:.,]+) (\d{2}:?\d{2})$/, '$1+$2')

/** Decodes a path segment; a malformed one stays as it is. */
export function decodeName(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
