import { hash } from 'node:crypto'
import type { Capability } from '../capability/capability.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { keyArgument } from './key-argument.ts'

/**
 * A key that is made here, in a form that an own argument of the capability accepts: a UUID where it has a
 * pattern or a format, a shorter digest where it is short, and digits for a number.
 */
export function toAcceptedKey(capability: Capability, key: string): string {
  const schema = findKeySchema(capability)
  if (!schema) return key
  const digest = hash('sha256', key)
  if (isNumeric(schema)) return String(Number.parseInt(digest.slice(0, 12), 16))
  const { pattern, format, maxLength, minLength } = schema
  if (pattern !== undefined || format !== undefined) return toUuid(digest)
  if (typeof maxLength === 'number' && key.length > maxLength) return digest.slice(0, maxLength)
  return typeof minLength === 'number' && key.length < minLength ? digest : key
}

/** The value of an own argument for a key from metadata or a header, which are always texts. */
export function toKeyValue(capability: Capability, key: string): string | number {
  const schema = findKeySchema(capability)
  return schema && isNumeric(schema) && /^(?:0|[1-9]\d{0,14})$/.test(key) ? Number(key) : key
}

function findKeySchema({ input }: Capability): JsonObject | undefined {
  const { properties } = input.schema
  const schema = isPlainObject(properties) ? properties[keyArgument] : undefined
  return isPlainObject(schema) ? (schema as JsonObject) : undefined
}

const isNumeric = ({ type }: JsonObject): boolean => type === 'integer' || type === 'number'

/** RFC 9562, version 8: the content is ours. */
const toUuid = (digest: string): string =>
  `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`
