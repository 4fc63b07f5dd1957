import type { Failed } from '../capability/outcome.ts'
import type { Field } from '../sources/records/model.ts'
import type { Warning } from '../sources/records/query-records.ts'
import { isFailed } from '../sources/records/reader.ts'
import type { Scope } from '../sources/records/scope.ts'

/** What a query string says, as the read contract writes it. */
export interface Parameters {
  readonly one: (name: string) => string | undefined
  /** Repeated, or separated by commas. */
  readonly many: (name: string) => readonly string[] | undefined
  /** `filter[field]=v` and `filter[field][gte]=v`, with values of the fields' types. */
  readonly filter: (scope: Scope | Failed) => Record<string, unknown> | string | undefined
  readonly limits: Readonly<Record<string, number>> | undefined
  /** What was understood, but will not be for ever. */
  readonly warnings: readonly Warning[]
}

/** Nothing is ever ignored: what is not understood is named. */
export function readParameters(
  query: string,
  known: readonly string[],
): Parameters | { readonly fault: string; readonly code: 'invalid_request' | 'invalid_argument' } {
  const search = new URLSearchParams(query)
  const pattern = /^(\w+)\[([^\]]*)\](?:\[(\w+)\])?$/
  const plain = new Map<string, string[]>()
  const nested: { name: string; key: string; operator?: string; value: string }[] = []
  for (const [name, value] of search) {
    const found = name.endsWith('[]') ? null : pattern.exec(name)
    const base = found?.[1] ?? name
    if (base !== 'connection_id' && base !== formerName && !known.includes(base))
      return {
        code: 'invalid_request',
        fault: `Unsupported query parameter: ${base.slice(0, 100)}`,
      }
    if (found)
      nested.push({
        name: base,
        key: found[2] ?? '',
        ...(found[3] !== undefined && { operator: found[3] }),
        value,
      })
    else plain.set(name, [...(plain.get(name) ?? []), value])
  }
  const [id, alias] = [plain.get('connection_id')?.[0], plain.get(formerName)?.[0]]
  if (id !== undefined && alias !== undefined && id !== alias)
    return {
      code: 'invalid_argument',
      fault: `connection_id and ${formerName} name different connections.`,
    }
  const one = (name: string) =>
    plain.get(name)?.[0] ?? (name === 'connection_id' ? alias : undefined)
  const limits = nested.filter(({ name }) => name === 'expand_limit')
  return {
    one,
    warnings: alias === undefined ? [] : [formerNameUsed],
    many: (name) =>
      plain.get(name)?.flatMap((value) => value.split(',').filter((word) => word !== '')),
    limits:
      limits.length === 0
        ? undefined
        : Object.fromEntries(limits.map(({ key, value }) => [key, Number(value) || 1])),
    filter(scope) {
      const bare = one('filter')
      if (bare !== undefined) return bare
      const parts = nested.filter(({ name }) => name === 'filter')
      if (parts.length === 0) return undefined
      const filter: Record<string, unknown> = Object.create(null)
      for (const { key, operator, value } of parts) {
        const typed = isFailed(scope) ? value : toTyped(scope.fields.get(key), value)
        filter[key] =
          operator === undefined
            ? typed
            : { ...(filter[key] as object | undefined), [operator]: typed }
      }
      return filter
    },
  }
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
  return value
}

/** A part of an address as it was meant. */
export function decodeName(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
