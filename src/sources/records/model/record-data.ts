import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Field } from './stream.ts'

/** The fields of a record. */
export type Data = Readonly<Record<string, unknown>>

/** A stored record, as JSON text or already parsed. */
export type RecordBody = string | Data

/** Projects a stored body to the given fields, before any other code sees the rest. */
export function toData(body: RecordBody, fields: readonly Field[]): Data {
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

export const parseBody = (body: RecordBody): unknown =>
  typeof body === 'string' ? JSON.parse(body) : body

/** Prototype pollution: assigning a field called `__proto__` would set the prototype instead. */
const ownProperty = { enumerable: true, configurable: true, writable: true }
