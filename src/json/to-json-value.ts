import type { Json } from '../capability/json.ts'
import { addPathSegment, JsonValueError } from './json-value-error.ts'
import { toPlainForm } from './plain-form.ts'
import { toBase64, toBase64Length } from './to-base64.ts'

const maxDepth = 100

/** Mutable counter: several values can share one limit. */
export interface SizeLimit {
  remainingChars: number
}

/**
 * Converts a live value to plain JSON, as docs/definitions.md describes: dates become ISO 8601, bigints
 * decimal strings, sets and maps arrays or objects, bytes base64. Getters and `toJSON` methods are not
 * trusted: each property is read exactly once, and the conversion stops at the size limit. Throws
 * JsonValueError, which names the place, for what JSON cannot carry. A promise only for blobs, which
 * cannot be read synchronously.
 */
export function toJsonValue(
  value: unknown,
  limit: SizeLimit,
): Json | undefined | Promise<Json | undefined> {
  const blobs: PendingBlob[] = []
  const json = convert(value, { limit, blobs }, 0)
  return blobs.length === 0 ? json : readBlobs(json, blobs)
}

/** As `toJsonValue`, for values that contain no blobs; a blob is an error. */
export const toJsonValueNow = (value: unknown, limit: SizeLimit): Json | undefined =>
  convert(value, { limit, blobs: undefined }, 0)

interface Conversion {
  readonly limit: SizeLimit
  /** Blobs to read when everything else is converted; `undefined` refuses them. */
  readonly blobs: PendingBlob[] | undefined
}

interface PendingBlob {
  readonly blob: Blob
  /** The object or array that gets the content; `undefined` for the value itself. */
  parent: object | undefined
  key: string | number
}

function convert(value: unknown, conversion: Conversion, depth: number): Json | undefined {
  switch (typeof value) {
    case 'string':
      count(conversion.limit, value.length + 2)
      return value
    case 'boolean':
      count(conversion.limit, 5)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new JsonValueError(`${value} is not a JSON number`)
      count(conversion.limit, 8)
      // JSON.stringify writes -0 as 0: the copy must not differ from what is sent.
      return value + 0
    case 'bigint': {
      const digits = String(value)
      count(conversion.limit, digits.length + 2)
      return digits
    }
    case 'undefined':
      return undefined
    case 'function':
    case 'symbol':
      if (depth === 0) throw new JsonValueError(`a ${typeof value} is not JSON`)
      // As JSON.stringify: objects often carry methods.
      return undefined
    case 'object':
      count(conversion.limit, 4)
      return value === null ? null : convertObject(value, conversion, depth)
  }
}

function count(limit: SizeLimit, characters: number): void {
  limit.remainingChars -= characters
  if (limit.remainingChars < 0) throw new JsonValueError('it is too large', 'too_large')
}

function convertObject(value: object, conversion: Conversion, depth: number): Json | undefined {
  if (depth > maxDepth)
    throw new JsonValueError(`is nested deeper than ${maxDepth} levels`, 'not_json', value)
  if (Array.isArray(value)) return convertArray(value, conversion, depth)
  const prototype = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || prototype === null
  if (!isPlain || typeof (value as Live).toJSON === 'function')
    return convertSpecial(value, conversion, depth)
  return convertRecord(value as Live, conversion, depth)
}

type Live = Readonly<Record<string, unknown>>

function convertArray(items: readonly unknown[], conversion: Conversion, depth: number): Json {
  const copy: Json[] = []
  let index = 0
  try {
    // Read by index: a custom iterator might never end.
    for (; index < items.length; index++) {
      count(conversion.limit, 1)
      const item = convert(items[index], conversion, depth + 1) ?? null
      copy.push(item)
      if (item === '') adoptBlob(conversion, copy, index)
    }
  } catch (error) {
    throw addPathSegment(error, index, items)
  }
  return copy
}

function convertRecord(value: Live, conversion: Conversion, depth: number): Json {
  const copy: Record<string, Json> = {}
  let key = ''
  try {
    for (key of Object.keys(value)) {
      const item = convert(value[key], conversion, depth + 1)
      if (item === undefined) continue
      count(conversion.limit, key.length + 4)
      // Prototype pollution: assigning to `__proto__` would set the prototype.
      if (key === '__proto__')
        Object.defineProperty(copy, key, { value: item, enumerable: true, writable: true })
      else copy[key] = item
      if (item === '') adoptBlob(conversion, copy, key)
    }
  } catch (error) {
    throw addPathSegment(error, key, value)
  }
  return copy
}

/** Everything that is neither a plain object nor an array. */
function convertSpecial(value: object, conversion: Conversion, depth: number): Json | undefined {
  const form = toPlainForm(value)
  switch (form.kind) {
    case 'bytes':
      count(conversion.limit, toBase64Length(form.bytes.byteLength))
      return toBase64(form.bytes)
    case 'blob':
      if (!conversion.blobs)
        throw new JsonValueError('a Blob cannot be read here; convert it to text or bytes first')
      count(conversion.limit, toBase64Length(form.blob.size))
      conversion.blobs.push({ blob: form.blob, parent: undefined, key: '' })
      return ''
    case 'value':
      return convert(form.value, conversion, depth + 1)
    case 'record':
      return convertRecord(value as Live, conversion, depth)
  }
}

/** A blob was converted to an empty string: remembers where its content belongs. */
function adoptBlob({ blobs }: Conversion, parent: object, key: string | number): void {
  if (blobs === undefined || blobs.length === 0) return
  const last = blobs[blobs.length - 1] as PendingBlob
  if (last.parent === undefined) Object.assign(last, { parent, key })
}

async function readBlobs(
  json: Json | undefined,
  blobs: readonly PendingBlob[],
): Promise<Json | undefined> {
  for (const { blob, parent, key } of blobs) {
    const value = toBase64(new Uint8Array(await blob.arrayBuffer()))
    if (parent === undefined) return value
    Object.defineProperty(parent, key, { value, enumerable: true, writable: true })
  }
  return json
}
