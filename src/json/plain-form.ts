import { types } from 'node:util'
import { JsonValueError, toReadError } from './json-value-error.ts'

/** How an object that is neither plain nor an array becomes JSON. */
export type PlainForm =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'blob'; readonly blob: Blob }
  /** Another live value that stands for it. */
  | { readonly kind: 'value'; readonly value: unknown }
  /** Its own enumerable properties, as for a plain object. */
  | { readonly kind: 'record' }

/** Throws JsonValueError for objects whose content JSON cannot carry: they would become `{}`. */
export function toPlainForm(object: object): PlainForm {
  // Before `toJSON`: that of a Buffer returns one number per byte.
  const bytes = toBytes(object)
  if (bytes) return { kind: 'bytes', bytes }
  // Before `toJSON`: errors carry requests, headers and stacks: none of it is meant as data.
  if (object instanceof Error)
    throw new JsonValueError('an Error is not JSON; return its message, or an error result')
  if (types.isDate(object) && Number.isNaN(object.getTime()))
    throw new JsonValueError('an invalid Date is not JSON')
  const converted = callToJson(object)
  if (converted) return { kind: 'value', value: converted.value }
  if (types.isMap(object)) return { kind: 'value', value: toEntries(object) }
  if (types.isSet(object)) return { kind: 'value', value: toItems(object) }
  if (ArrayBuffer.isView(object))
    return { kind: 'value', value: Array.from(object as Iterable<unknown> & typeof object) }
  if (types.isBoxedPrimitive(object)) return { kind: 'value', value: object.valueOf() }
  if (object instanceof Blob) return { kind: 'blob', blob: object }
  if (types.isPromise(object)) throw new JsonValueError('a Promise is not JSON; await it')
  if (Object.keys(object).length > 0) return { kind: 'record' }
  throw new JsonValueError(
    `${describe(object)} has no properties of its own, so nothing of it would be sent; return a string, an array or a plain object`,
  )
}

/** The content of buffers; other typed arrays are lists of numbers. */
export function toBytes(object: object): Uint8Array | undefined {
  if (types.isUint8Array(object)) return object
  if (types.isAnyArrayBuffer(object)) return new Uint8Array(object)
  if (types.isDataView(object) || types.isUint8ClampedArray(object))
    return new Uint8Array(object.buffer, object.byteOffset, object.byteLength)
  return undefined
}

/** The result of the object's `toJSON` method; `undefined` if it has none. */
function callToJson(object: object): { readonly value: unknown } | undefined {
  try {
    const { toJSON } = object as { toJSON?: unknown }
    return typeof toJSON === 'function' ? { value: toJSON.call(object) } : undefined
  } catch (error) {
    throw toReadError(error)
  }
}

/** An object when every key is a string, else pairs: other keys would collide or lose their type. */
function toEntries(map: ReadonlyMap<unknown, unknown>): object {
  const pairs: [unknown, unknown][] = []
  let hasOnlyStrings = true
  // Not the iterator of the object, which a subclass may have replaced.
  Map.prototype.forEach.call(map, (value, key) => {
    pairs.push([key, value])
    hasOnlyStrings &&= typeof key === 'string'
  })
  return hasOnlyStrings ? Object.fromEntries(pairs as [string, unknown][]) : pairs
}

function toItems(set: ReadonlySet<unknown>): unknown[] {
  const items: unknown[] = []
  Set.prototype.forEach.call(set, (item) => items.push(item))
  return items
}

function describe(object: object): string {
  const name = object.constructor?.name
  return typeof name === 'string' && name !== '' ? `a ${name}` : 'an object'
}
