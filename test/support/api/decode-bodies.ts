import { type ApiDocument, isFields } from './api-document.ts'
import { type Decoded, DecodedJson, RawPairs } from './decode-parameters.ts'
import type { MediaSpec, ParameterSpec } from './operations.ts'
import { listShapes, type Shape } from './shapes.ts'

export interface DecodedPart {
  readonly name: string
  readonly filename: string | undefined
  readonly contentType: string | undefined
  readonly bytes: Buffer
}

/** A request body, decoded by its media type. */
export type DecodedBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'form'; readonly fields: Readonly<Record<string, readonly Decoded[]>> }
  | { readonly kind: 'multipart'; readonly parts: readonly DecodedPart[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly contentType: string }

export function decodeBody(
  document: ApiDocument,
  media: MediaSpec,
  contentType: string,
  bytes: Buffer,
): DecodedBody {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/[/+]json$/.test(type)) return { kind: 'json', value: JSON.parse(bytes.toString()) }
  if (type === 'application/x-www-form-urlencoded')
    return { kind: 'form', fields: decodeForm(document, media, bytes.toString()) }
  if (type.startsWith('multipart/')) {
    const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1]
    if (boundary === undefined) throw new Error('multipart without a boundary')
    return { kind: 'multipart', parts: splitParts(bytes, boundary) }
  }
  if (type.startsWith('text/') || /[/+](?:xml|yaml|graphql)$/.test(type))
    return { kind: 'text', text: bytes.toString() }
  return { kind: 'bytes', bytes, contentType }
}

export const matchesMedia = (declared: string, contentType: string): boolean => {
  const [range = '', actual = ''] = [declared, contentType].map(
    (one) => one.split(';')[0]?.trim().toLowerCase() ?? '',
  )
  const pattern = range.replaceAll(/[.+]/g, '\\$&').replaceAll('*', '[^/]*')
  return new RegExp(`^${pattern}$`).test(actual)
}

/** Every field by the style of its encoding; without one, lists repeat the name and objects are JSON. */
function decodeForm(
  document: ApiDocument,
  { schema, encoding }: MediaSpec,
  text: string,
): Record<string, readonly Decoded[]> {
  const pairs = RawPairs.ofQuery(text)
  const fields: Record<string, readonly Decoded[]> = {}
  const { properties } = listShapes(document, schema)
  // Exploded objects last: they take every name that is left.
  for (const [name, property] of properties ?? []) {
    const { style, explode } = (document.get(encoding, name).value ?? {}) as Record<string, unknown>
    const found = listShapes(document, property)
    const isStyled = style !== undefined || explode !== undefined
    const used = typeof style === 'string' ? style : 'form'
    const spec: ParameterSpec = {
      place: 'query',
      name,
      isRequired: false,
      style: used,
      explode: typeof explode === 'boolean' ? explode : used === 'form' || used === 'deepObject',
      allowReserved: false,
      mediaType: undefined,
      shapes: isStyled ? found.shapes : withoutObjects(found.shapes),
      properties: found.properties,
    }
    const values = pairs.take(spec)
    if (values === undefined) continue
    fields[name] = isStyled ? values : values.flatMap(withJson)
  }
  for (const name of new Set(pairs.leftOver)) fields[name] = pairs.takeCredential(name)
  return fields
}

const withoutObjects = (shapes: ReadonlySet<Shape>): ReadonlySet<Shape> =>
  new Set([...shapes].map((shape) => (shape === 'object' ? 'scalar' : shape)))

/** A text may be JSON: the comparison decides which reading is meant. */
function withJson(value: Decoded): Decoded[] {
  if (Array.isArray(value)) return [value, value.map((item) => tryJson(item) ?? item)]
  const json = tryJson(value)
  return json ? [value, json] : [value]
}

function tryJson(value: Decoded): DecodedJson | undefined {
  try {
    const json: unknown = typeof value === 'string' ? JSON.parse(value) : undefined
    return isFields(json) || Array.isArray(json) ? new DecodedJson(json) : undefined
  } catch {
    return undefined
  }
}

/** RFC 2046 and RFC 7578. */
function splitParts(body: Buffer, boundary: string): readonly DecodedPart[] {
  const delimiter = Buffer.from(`--${boundary}`)
  const parts: DecodedPart[] = []
  let at = body.indexOf(delimiter)
  if (at !== 0) throw new Error('the body does not begin with its boundary')
  for (;;) {
    const start = at + delimiter.length
    if (body.subarray(start, start + 2).toString() === '--') return parts
    const end = body.indexOf(Buffer.concat([Buffer.from('\r\n'), delimiter]), start)
    if (end < 0) throw new Error('the body has no closing boundary')
    parts.push(toPart(body.subarray(start + 2, end)))
    at = end + 2
  }
}

function toPart(part: Buffer): DecodedPart {
  const blank = part.indexOf('\r\n\r\n')
  const headers = Object.fromEntries(
    part
      .subarray(0, blank)
      .toString()
      .split('\r\n')
      .map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
  )
  const disposition = headers['content-disposition'] ?? ''
  if (!/^form-data(;|$)/.test(disposition)) throw new Error(`disposition ${disposition}`)
  const name = unquote(/; name="([^"]*)"/.exec(disposition)?.[1])
  if (name === undefined) throw new Error('a part has no name')
  return {
    name,
    filename: unquote(/; filename="([^"]*)"/.exec(disposition)?.[1]),
    contentType: headers['content-type'],
    bytes: part.subarray(blank + 4),
  }
}

/** As WHATWG writes quotes and line ends. */
const unquote = (text: string | undefined): string | undefined =>
  text?.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
