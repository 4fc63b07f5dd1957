import { isPlainObject } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Field } from '../model/stream.ts'
import { unknownField } from '../reading/filter.ts'
import type { Row } from '../record-store.ts'
import type { Scope } from './scope.ts'

export type GrantedFields = readonly Field[]

export interface RecordProjection {
  readonly fields?: readonly string[] | undefined
  readonly view?: string | undefined
}

/** The granted fields that are asked for; all of them when nothing is. */
export function toFields(scope: Scope, { fields, view }: RecordProjection): GrantedFields | Failed {
  if (fields && view !== undefined)
    return cannotRead('invalid_argument', 'Give either fields or view, not both.')
  if (view !== undefined) {
    const found = findView(scope, view)
    if (!found)
      return cannotRead(
        'invalid_argument',
        `There is no view ${JSON.stringify(view.slice(0, 200))} of ${scope.source.stream.name}. Call schema with this stream for its views.`,
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

/** What is granted of a view; a view without any of it is none. */
export function findView({ source, fields }: Scope, name: string): GrantedFields | undefined {
  const view = source.stream.views.find((one) => one.name === name)
  const granted = view?.fields.flatMap((field) => fields.get(field) ?? []) ?? []
  return granted.length > 0 ? granted : undefined
}

export type Data = Readonly<Record<string, unknown>>

/** Taken out before anything else sees it: what is not asked for goes nowhere. */
export function toData(body: Row['body'], fields: GrantedFields): Data {
  const whole = toWhole(body)
  const data: Record<string, unknown> = {}
  if (isPlainObject(whole))
    for (const { name } of fields)
      if (Object.hasOwn(whole, name))
        if (name === '__proto__')
          Object.defineProperty(data, name, { value: whole[name], ...plain })
        else data[name] = whole[name]
  return data
}

export const toWhole = (body: Row['body']): unknown =>
  typeof body === 'string' ? JSON.parse(body) : body

/** A field may be called `__proto__`. */
const plain = { enumerable: true, configurable: true, writable: true }
