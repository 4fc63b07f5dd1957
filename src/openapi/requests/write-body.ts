import { createHash } from 'node:crypto'
import type { Fault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { isFieldValue } from '../../upstream/http/field-value.ts'
import { toFileContent } from './files.ts'
import { writeJson } from './large-integers.ts'
import { toMediaType } from './media-types.ts'
import type { Style } from './parameters.ts'
import type { Body, FieldEncoding } from './read-body.ts'
import { encodeStrictly, toScalar, toStyledPairs } from './serialize.ts'

export interface WrittenBody {
  readonly contentType: string
  readonly content: string | Uint8Array
}

/** Writes a body in its media type; `input` is the schema of all arguments. A fault is a message for the model. */
export function writeBody(body: Body, value: unknown, input: JsonObject): WrittenBody | Fault {
  switch (body.kind) {
    case 'json':
      return {
        contentType: toJsonType(body.mediaType),
        content: writeJson(value, body.schema, input),
      }
    case 'text':
      return { contentType: body.mediaType, content: toScalar(value) }
    case 'form':
      return writeForm(body, value)
    case 'multipart':
      return writeMultipart(body, value)
    case 'file':
      return writeFile(body, value)
  }
}

const toJsonType = (mediaType: string): string =>
  mediaType.includes('*') ? 'application/json' : mediaType

const isRange = (mediaType: string): boolean => mediaType.includes('*')

function writeFile({ argument, mediaType }: Body, value: unknown): WrittenBody | Fault {
  const file = toFileContent(value)
  if (!file) return { fault: `"${argument}" must have "text", or "data" with valid base64.` }
  const declaredType = isRange(mediaType) ? undefined : mediaType
  const contentType = declaredType ?? file.mediaType ?? 'application/octet-stream'
  if (!isFieldValue(contentType)) return { fault: `The mediaType of "${argument}" is not valid.` }
  return { contentType, content: file.bytes }
}

/** `application/x-www-form-urlencoded`, with the styles of query parameters. */
function writeForm({ argument, encodings }: Body, value: unknown): WrittenBody | Fault {
  if (!isPlainObject(value))
    return { fault: `"${argument}" must be an object: it is sent as a form.` }
  const pairs = Object.entries(value).flatMap(([name, field]) =>
    toFormPairs(name, field, own(encodings, name)),
  )
  const content = pairs.map(([name, text]) => `${name}=${text}`).join('&')
  return { contentType: 'application/x-www-form-urlencoded', content }
}

/** Lists repeat their name, and objects are JSON, unless the document gives a style. */
function toFormPairs(
  name: string,
  value: unknown,
  { style, explode }: FieldEncoding = {},
): readonly (readonly [string, string])[] {
  if (value === undefined || value === null) return []
  const key = encodeStrictly(name)
  if (style !== undefined || explode !== undefined) {
    const used = style ?? 'form'
    const isExploded = explode ?? (used === 'form' || used === 'deepObject')
    return toStyledPairs(key, value, { style: used, explode: isExploded }, encodeStrictly)
  }
  const values = Array.isArray(value) ? value : [value]
  return values.map((item) => [key, encodeStrictly(toScalar(item))])
}

function writeMultipart(body: Body, value: unknown): WrittenBody | Fault {
  const { argument, encodings, files, mediaType } = body
  if (!isPlainObject(value))
    return { fault: `"${argument}" must be an object: it is sent as a form.` }
  const parts: Part[] = []
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined || field === null) continue
    const encoding = own(encodings, name)
    if (!files.has(name) && (encoding?.style ?? encoding?.explode) !== undefined) {
      const separator = findSeparator(field, encoding)
      if (separator !== undefined)
        return {
          fault: `An item of "${argument}.${name}" must not contain ${JSON.stringify(separator)}, which separates its items.`,
        }
      // Nothing is encoded in the parts of a multipart form.
      const pairs = toFormPairs(name, field, encoding).map((pair) => pair.map(decodeURIComponent))
      for (const [key = '', text] of pairs) {
        const part = toPart(key, text, false)
        if (part) parts.push(part)
      }
      continue
    }
    for (const item of Array.isArray(field) ? field : [field]) {
      const part = toPart(name, item, files.has(name), encoding)
      if (!part)
        return { fault: `"${argument}.${name}" must have "text", or "data" with valid base64.` }
      parts.push(part)
    }
  }
  const boundary = toBoundary(parts)
  const chunks = parts.flatMap(({ headers, content }) => [
    Buffer.from(`--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ])
  return {
    contentType: `${toMediaType(isRange(mediaType) ? 'multipart/form-data' : mediaType)}; boundary=${boundary}`,
    content: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
  }
}

/** The character between the items of a list, if one of them contains it, too. */
function findSeparator(value: unknown, { style = 'form', explode }: FieldEncoding = {}) {
  const separator = (explode ?? style === 'form') ? undefined : itemSeparators[style]
  if (separator === undefined || !Array.isArray(value)) return undefined
  return value.map(toScalar).some((item) => item.includes(separator)) ? separator : undefined
}

const itemSeparators: Readonly<Partial<Record<Style, string>>> = {
  form: ',',
  spaceDelimited: ' ',
  pipeDelimited: '|',
}

interface Part {
  readonly headers: readonly string[]
  readonly content: Uint8Array
}

function toPart(
  name: string,
  value: unknown,
  isFile: boolean,
  { contentType }: FieldEncoding = {},
): Part | undefined {
  const file = isFile ? toFileContent(value) : undefined
  if (isFile && !file) return undefined
  const isObject = typeof value === 'object' && value !== null
  const type = file
    ? [file.mediaType, contentType, 'application/octet-stream'].find(
        (one) => one !== undefined && isFieldValue(one) && !isRange(one),
      )
    : (contentType ?? (isObject ? 'application/json' : undefined))
  // The names of most servers' file fields need a file name.
  const filename = file ? `; filename="${toQuoted(file.filename ?? name)}"` : ''
  return {
    headers: [
      `Content-Disposition: form-data; name="${toQuoted(name)}"${filename}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ],
    content: file?.bytes ?? Buffer.from(toScalar(value)),
  }
}

/** As browsers do (WHATWG): names must not end the header. */
const toQuoted = (text: string): string =>
  text.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

/** Made from the content: the same call has the same bytes, and no part can contain it by chance. */
function toBoundary(parts: readonly Part[]): string {
  const digest = createHash('sha256')
  for (const { headers, content } of parts) digest.update(headers.join('\n')).update(content)
  return `drawbridge-${digest.digest('hex').slice(0, 40)}`
}

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined
