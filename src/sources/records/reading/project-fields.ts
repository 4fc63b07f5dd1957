import type { Failed } from '../../../capability/outcome.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../grants/granted-scope.ts'
import type { Field } from '../model/stream.ts'
import type { Row } from '../record-store.ts'
import { unknownField } from './filter.ts'

export type GrantedFields = readonly Field[]

export interface RecordProjection {
  readonly fields?: readonly string[] | undefined
  readonly view?: string | undefined
}

/** Narrows the granted fields to the requested ones; all granted fields when none are requested. */
export function toFields(scope: Scope, { fields, view }: RecordProjection): GrantedFields | Failed {
  if (fields && view !== undefined)
    return cannotRead('invalid_argument', 'Give either fields or view, not both.')
  if (view !== undefined) {
    const found = findView(scope, view)
    if (!found)
      return cannotRead(
        'invalid_argument',
        `Unknown view ${JSON.stringify(view.slice(0, 200))} of ${scope.source.stream.name}. Call schema with this stream for its views.`,
      )
    return found
  }
  if (!fields) return [...scope.fields.values()]
  const chosen: Field[] = []
  for (const name of new Set(fields)) {
    const field = scope.fields.get(name)
    if (!field) return unknownField(scope, name)
    chosen.push(field)
  }
  return chosen.sort((a, b) => a.n - b.n)
}

/** The granted fields of a view; `undefined` when none of its fields is granted. */
export function findView({ source, fields }: Scope, name: string): GrantedFields | undefined {
  const view = source.stream.views.find((one) => one.name === name)
  const granted = view?.fields.flatMap((field) => fields.get(field) ?? []) ?? []
  return granted.length > 0 ? granted : undefined
}

export type Data = Readonly<Record<string, unknown>>

/** Projects a stored body to the given fields, before any other code sees the rest. */
export function toData(body: Row['body'], fields: GrantedFields): Data {
  const record = parseBody(body)
  const data: Record<string, unknown> = {}
  if (isPlainObject(record))
    for (const { name } of fields)
      if (Object.hasOwn(record, name))
        if (name === '__proto__')
          Object.defineProperty(data, name, { value: record[name], ...ownProperty })
        else data[name] = record[name]
  return data
}

export const parseBody = (body: Row['body']): unknown =>
  typeof body === 'string' ? JSON.parse(body) : body

/** Prototype pollution: assigning a field called `__proto__` would set the prototype instead. */
const ownProperty = { enumerable: true, configurable: true, writable: true }
