import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ParameterFormat, Style } from './parameters.ts'

/** How one character sequence is written into a request. */
type Encode = (text: string) => string

/** RFC 3986: everything but unreserved characters. */
export const encodeStrictly: Encode = (text) =>
  encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, toPercent)

/** RFC 6570 `+`, less the characters that would end the value: a value must not add parameters. */
export const encodeReserved: Encode = (text) =>
  encodeURIComponent(text.toWellFormed()).replaceAll(
    /%(?:3A|2F|3F|40|24|2C|3B|5B|5D)/g,
    decodeURIComponent,
  )

/** Less than other places need: servers compare the value of a cookie as it is sent (RFC 6265, cookie-octet). */
export const encodeCookie: Encode = (text) =>
  text
    .toWellFormed()
    .replaceAll(/[^\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]/gu, encodeURIComponent)

const toPercent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase()}`

const asIs: Encode = (text) => text

type StyleFormat = Extract<ParameterFormat, { kind: 'style' }>

/** The text of a path segment's variable. */
export function toPathText(name: string, value: unknown, format: ParameterFormat): string {
  if (format.kind !== 'style') return encodeStrictly(toText(value, format.kind))
  const { style, explode } = format
  const { prefix, separator } = pathStyles[style as 'simple' | 'label' | 'matrix']
  const isNamed = style === 'matrix'
  // An exploded matrix repeats the name; otherwise values are separated by commas.
  const joint = explode ? separator : ','
  // Dots separate the items, and are not encoded otherwise.
  const encode: Encode =
    style === 'label' && explode
      ? (text) => encodeStrictly(text).replaceAll('.', '%2E')
      : encodeStrictly
  if (Array.isArray(value)) {
    const items = value.filter(isWritten).map((item) => encode(toScalar(item)))
    if (isNamed && explode) return items.map((item) => `;${name}=${item}`).join('')
    return `${prefix}${isNamed ? `${name}=` : ''}${items.join(joint)}`
  }
  if (isPlainObject(value)) {
    const pairs = toPairs(value, encode)
    if (explode) {
      const members = pairs.map(([key, text]) => `${key}=${text}`)
      return isNamed ? members.map((one) => `;${one}`).join('') : prefix + members.join(joint)
    }
    return `${prefix}${isNamed ? `${name}=` : ''}${pairs.flat().join(',')}`
  }
  const text = encodeStrictly(toScalar(value))
  return `${prefix}${isNamed ? (text === '' ? name : `${name}=${text}`) : text}`
}

const pathStyles = {
  simple: { prefix: '', separator: ',' },
  label: { prefix: '.', separator: '.' },
  matrix: { prefix: ';', separator: ';' },
} as const

/** Names and values of a query string, encoded. */
export function toQueryPairs(
  name: string,
  value: unknown,
  format: ParameterFormat,
): readonly (readonly [string, string])[] {
  const key = encodeStrictly(name)
  if (format.kind !== 'style') return [[key, encodeStrictly(toText(value, format.kind))]]
  const encode = format.allowReserved ? encodeReserved : encodeStrictly
  return toStyledPairs(key, value, format, encode)
}

/** The pairs of a query string or of a form. */
export function toStyledPairs(
  key: string,
  value: unknown,
  { style, explode }: Pick<StyleFormat, 'style' | 'explode'>,
  encode: Encode,
): readonly (readonly [string, string])[] {
  if (style === 'deepObject') return toDeepPairs(key, value, encode)
  const separator = separators[style] ?? ','
  if (Array.isArray(value)) {
    const items = value.filter(isWritten).map((item) => encode(toScalar(item)))
    if (explode) return items.map((item) => [key, item] as const)
    return items.length === 0 ? [] : [[key, items.join(separator)]]
  }
  if (isPlainObject(value)) {
    const pairs = toPairs(value, encode)
    if (explode) return pairs
    return pairs.length === 0 ? [] : [[key, pairs.flat().join(separator)]]
  }
  return [[key, encode(toScalar(value))]]
}

/** Encoded: neither a space nor a pipe may stand in a URL. */
const separators: Partial<Record<Style, string>> = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
}

/**
 * `a[b]=1`. The specification leaves arrays and deeper levels open; `a[b][c]` and `a[0]` are what the
 * query parsers of servers read.
 */
function toDeepPairs(
  key: string,
  value: unknown,
  encode: Encode,
): readonly (readonly [string, string])[] {
  const entries = Array.isArray(value)
    ? value.map((item, index) => [String(index), item] as const)
    : isPlainObject(value)
      ? Object.entries(value)
      : undefined
  if (!entries) return [[key, encode(toScalar(value))]]
  return entries
    .filter(([, item]) => isWritten(item))
    .flatMap(([name, item]) => toDeepPairs(`${key}%5B${encodeStrictly(name)}%5D`, item, encode))
}

/** The value of a header; not encoded, because headers have no encoding. */
export function toHeaderText(value: unknown, format: ParameterFormat): string {
  if (format.kind === 'json') return toAsciiJson(value)
  if (format.kind === 'text') return toScalar(value)
  if (Array.isArray(value)) return value.filter(isWritten).map(toScalar).join(',')
  if (!isPlainObject(value)) return toScalar(value)
  const pairs = toPairs(value, asIs)
  return format.explode
    ? pairs.map(([key, text]) => `${key}=${text}`).join(',')
    : pairs.flat().join(',')
}

/** JSON can escape what a header cannot contain. */
const toAsciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

export function toCookiePairs(
  name: string,
  value: unknown,
  format: ParameterFormat,
): readonly (readonly [string, string])[] {
  const key = encodeStrictly(name)
  if (format.kind !== 'style') return [[key, encodeStrictly(toText(value, format.kind))]]
  return toStyledPairs(key, value, format, encodeStrictly)
}

/** RFC 6570: null is the same as absent. */
const isWritten = (value: unknown): boolean => value !== undefined && value !== null

const toPairs = (value: Readonly<Record<string, unknown>>, encode: Encode): [string, string][] =>
  Object.entries(value)
    .filter(([, item]) => isWritten(item))
    .map(([key, item]) => [encode(key), encode(toScalar(item))])

const toText = (value: unknown, kind: 'json' | 'text'): string =>
  kind === 'json' ? JSON.stringify(value) : toScalar(value)

/** Objects inside of arrays and objects have no style of their own: they are sent as JSON. */
export const toScalar = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'object' && value !== null
      ? JSON.stringify(value)
      : String(value)
