import { isPlainObject, type JsonObject } from '../../capability/json.ts'
import { codes, RpcError } from '../rpc-error.ts'

/** An argument that a modern client repeats in a header, so that proxies can route by it. */
interface ParamHeader {
  readonly path: readonly string[]
  readonly header: string
  readonly numeric: boolean
}

/** The `x-mcp-header` marks of a schema: on primitive properties, reached by `properties` alone. */
export function toParamHeaders(schema: JsonObject, path: readonly string[] = []): ParamHeader[] {
  if (!isPlainObject(schema.properties)) return []
  return Object.entries(schema.properties).flatMap(([key, child]) => {
    if (!isPlainObject(child)) return []
    const here = [...path, key]
    const mark = child['x-mcp-header']
    const own =
      typeof mark === 'string' && token.test(mark) && primitive.has(String(child.type))
        ? [
            {
              path: here,
              header: `mcp-param-${mark.toLowerCase()}`,
              numeric: child.type === 'integer',
            },
          ]
        : []
    return [...own, ...toParamHeaders(child as JsonObject, here)]
  })
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const primitive = new Set(['string', 'integer', 'boolean'])

type Headers = Readonly<Record<string, string | undefined>>

export function checkParamHeaders(marks: readonly ParamHeader[], input: unknown, headers: Headers) {
  for (const { path, header, numeric } of marks) {
    const value = path.reduce<unknown>(
      (node, key) => (isPlainObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
      input,
    )
    if (value === undefined || value === null || typeof value === 'object') continue
    const said = decodeHeader(headers[header])
    const same = numeric && said !== undefined ? Number(said) === value : said === String(value)
    if (!same)
      throw headersDisagree(header, `arguments ${path.join('.')} is ${JSON.stringify(value)}`)
  }
}

/** Header values that ASCII cannot carry arrive as `=?base64?…?=`. */
export function decodeHeader(value: string | undefined): string | undefined {
  const encoded = value?.match(/^=\?base64\?(.*)\?=$/)?.[1]
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  return bytes.toString('base64') === encoded && !text.includes('\ufffd') ? text : undefined
}

export const headersDisagree = (header: string, body: string): RpcError =>
  new RpcError(codes.headerMismatch, `The headers and the body disagree: ${body}`, {
    status: 400,
    data: { mismatch: { header, body } },
  })
