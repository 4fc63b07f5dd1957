import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'
import { byCodePoint, isPlainObject, type Json } from '../../../capability/json.ts'

/** What a cursor is for; one kind means nothing where another is asked for. */
export type CursorKind = 'page' | 'bookmark' | 'changes' | 'search'

/** Everything that must be the same when it comes back. */
export interface CursorBinding {
  readonly kind: CursorKind
  /** Whose reads it goes on with. */
  readonly grant: string
  readonly query: Json
}

const tagLength = 16
const nonceLength = 12
/** Holds any place that is made of numbers alone, three of them at most. */
const stepLength = 48

/**
 * A place in a result, sealed: nobody can read it, change it, or use it for another grant or query.
 * The nonce is made from the text, so the same place is always the same cursor.
 */
export function sealCursor(key: Uint8Array, binding: CursorBinding, place: Json): string {
  const text = toPadded(JSON.stringify(place))
  const context = toContext(binding)
  const nonce = createHmac('sha256', key)
    .update(`${context}\n${text}`)
    .digest()
    .subarray(0, nonceLength)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** How many digits a number has would tell how much was written that is not granted. */
function toPadded(text: string): string {
  const length = Buffer.byteLength(text)
  return text + ' '.repeat(Math.ceil(length / stepLength) * stepLength - length)
}

/** `undefined` for everything that was not sealed for this very binding: nobody is told why. */
export function openCursor(
  key: Uint8Array,
  binding: CursorBinding,
  cursor: string,
): readonly unknown[] | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes.length <= nonceLength + tagLength || bytes.toString('base64url') !== cursor)
    return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceLength))
      .setAAD(Buffer.from(toContext(binding)))
      .setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
    const text = decipher.update(bytes.subarray(nonceLength + tagLength), undefined, 'utf8')
    const place: unknown = JSON.parse(text + decipher.final('utf8'))
    return Array.isArray(place) ? place : undefined
  } catch {
    return undefined
  }
}

const toContext = ({ kind, grant, query }: CursorBinding): string =>
  `1 ${kind} ${hash('sha256', JSON.stringify([grant, toSorted(query)]), 'base64url')}`

/** The order in which somebody names filters is not part of what they ask. */
function toSorted(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(toSorted)
  if (!isPlainObject(value)) return (value ?? null) as Json
  return Object.entries(value)
    .sort(([a], [b]) => byCodePoint(a, b))
    .map(([name, item]) => [name, toSorted(item as Json)])
}
