import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { codes, RpcError } from '../rpc-error.ts'

/** An argument that modern clients repeat in an HTTP header, so that proxies can route by it. */
interface ParamHeader {
  readonly path: readonly string[]
  readonly header: string
  readonly numeric: boolean
}

/** Collects the `x-mcp-header` annotations of primitive properties, nested through `properties` only. */
export function toParamHeaders(schema: JsonObject, path: readonly string[] = []): ParamHeader[] {
  if (!isPlainObject(schema.properties)) return []
  return Object.entries(schema.properties).flatMap(([key, child]) => {
    if (!isPlainObject(child)) return []
    const childPath = [...path, key]
    const name = child['x-mcp-header']
    const ownHeaders =
      typeof name === 'string' && headerToken.test(name) && primitive.has(String(child.type))
        ? [
            {
              path: childPath,
              header: `mcp-param-${name.toLowerCase()}`,
              numeric: child.type === 'integer',
            },
          ]
        : []
    return [...ownHeaders, ...toParamHeaders(child as JsonObject, childPath)]
  })
}

/** A `token` of RFC 9110. */
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const primitive = new Set(['string', 'integer', 'boolean'])

type Headers = Readonly<Record<string, string | undefined>>

export function checkParamHeaders(
  paramHeaders: readonly ParamHeader[],
  input: unknown,
  headers: Headers,
) {
  for (const { path, header, numeric } of paramHeaders) {
    const value = path.reduce<unknown>(
      (node, key) => (isPlainObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
      input,
    )
    if (value === undefined || value === null || typeof value === 'object') continue
    const headerValue = decodeHeader(headers[header])
    const isSame =
      numeric && headerValue !== undefined
        ? Number(headerValue) === value
        : headerValue === String(value)
    if (!isSame)
      throw headerMismatch(header, `arguments ${path.join('.')} is ${JSON.stringify(value)}`)
  }
}

/** Decodes `=?base64?…?=`, the form of header values that are not ASCII; `undefined` if malformed. */
export function decodeHeader(value: string | undefined): string | undefined {
  const encoded = value?.match(/^=\?base64\?(.*)\?=$/)?.[1]
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  return bytes.toString('base64') === encoded && !text.includes('\ufffd') ? text : undefined
}

export const headerMismatch = (header: string, body: string): RpcError =>
  new RpcError(codes.headerMismatch, `The headers and the body disagree: ${body}`, {
    status: 400,
    data: { mismatch: { header, body } },
  })
