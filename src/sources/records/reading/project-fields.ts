import type { Failed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
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
    const viewFields = findView(scope, view)
    if (!viewFields)
      return cannotRead(
        'invalid_argument',
        `Unknown view ${JSON.stringify(view.slice(0, 200))} of ${scope.source.stream.name}. Call schema with this stream for its views.`,
      )
    return viewFields
  }
  if (!fields) return [...scope.fields.values()]
  const chosenFields: Field[] = []
  for (const name of new Set(fields)) {
    const field = scope.fields.get(name)
    if (!field) return unknownField(scope, name)
    chosenFields.push(field)
  }
  return chosenFields.sort((a, b) => a.n - b.n)
}

/** The granted fields of a view; `undefined` when none of its fields is granted. */
export function findView({ source, fields }: Scope, name: string): GrantedFields | undefined {
  const view = source.stream.views.find((one) => one.name === name)
  const viewFields = view?.fields.flatMap((field) => fields.get(field) ?? []) ?? []
  return viewFields.length > 0 ? viewFields : undefined
}
