import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Fields } from '../document.ts'
import { isTextMedia } from './media-types.ts'

/** The argument for binary content. Models cannot write base64 of text, so that they may send text. */
export const fileSchema: JsonObject = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'The content, if it is text.' },
    data: { type: 'string', contentEncoding: 'base64', description: 'The content as base64.' },
    filename: { type: 'string' },
    mediaType: { type: 'string', description: 'Such as image/png.' },
  },
  oneOf: [{ required: ['text'] }, { required: ['data'] }],
  additionalProperties: false,
}

/** For a range such as `image/*` the call must say which type it is. */
export function toFileSchema(mediaType: string): JsonObject {
  const [range = ''] = mediaType.replaceAll(/[.+]/g, '\\$&').split('*', 1)
  if (!mediaType.includes('*')) return fileSchema
  const { properties, ...keywords } = fileSchema
  const type = {
    type: 'string',
    description: `Matches ${mediaType}.`,
    pattern: `^${range}[\\w.+-]+$`,
  }
  return {
    ...keywords,
    properties: { ...(properties as JsonObject), mediaType: type },
    required: ['mediaType'],
  }
}

/** A string of bytes: `format: binary` in OpenAPI 3.0, a media type without an encoding in 3.1. */
export function isFileSchema({ type, format, contentMediaType, contentEncoding }: Fields): boolean {
  const types = withoutNull(type)
  const isString = types.length === 1 && types[0] === 'string'
  return (
    (isString && format === 'binary') ||
    (typeof contentMediaType === 'string' &&
      contentEncoding === undefined &&
      (isString || type === undefined) &&
      !isTextMedia(contentMediaType))
  )
}

/** The types that a schema names, without null: a field that is null is not sent. */
export const withoutNull = (type: unknown): readonly unknown[] =>
  [type].flat().filter((one) => one !== undefined && one !== 'null')

/** A file as it is sent. */
export interface FileContent {
  readonly bytes: Uint8Array
  readonly filename: string | undefined
  readonly mediaType: string | undefined
}

/** Reads the argument for a file; nothing if its base64 is not valid. */
export function toFileContent(value: unknown): FileContent | undefined {
  if (!isPlainObject(value)) return undefined
  const { text, data, filename, mediaType } = value
  const bytes =
    typeof text === 'string'
      ? Buffer.from(text)
      : typeof data === 'string'
        ? decode(data)
        : undefined
  return (
    bytes && {
      bytes,
      filename: typeof filename === 'string' ? filename : undefined,
      mediaType: typeof mediaType === 'string' ? mediaType : undefined,
    }
  )
}

/** Node ignores characters that are not base64: what would be lost is refused. */
function decode(data: string): Buffer | undefined {
  const [plain = ''] = data.replaceAll(/\s/g, '').split(/={1,2}$/)
  const isWhole = plain.length % 4 !== 1
  return isWhole && /^[\w+/-]*$/.test(plain) ? Buffer.from(plain, 'base64') : undefined
}
