import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import type { Answer } from './spawn-server.ts'

export const modernRevision = '2026-07-28'

export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: string | number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': modernRevision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A valid 2026 request. */
export const aModernRequest = (
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  id: string | number = 1,
): Message & { readonly id: string | number } => ({
  jsonrpc: '2.0',
  id,
  method,
  params: { ...params, _meta: { ...modernMeta, ...(params._meta as object | undefined) } },
})

/** Headers that match a body, as far as it can be parsed. */
export function toModernHeaders(body: unknown): Record<string, string> {
  const { method, params } = asRecord(body)
  const { name, uri, _meta, arguments: input } = asRecord(params)
  const version = asRecord(_meta)['io.modelcontextprotocol/protocolVersion']
  const subject = method === 'resources/read' ? uri : name
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(isPlain(version) && { 'mcp-protocol-version': version }),
    ...(isPlain(method) && { 'mcp-method': method }),
    ...(isShort(subject) && { 'mcp-name': toHeaderValue(subject) }),
    ...toParamHeaders(input),
  }
}

/** Tools of the tests mark `region` and `shard` with `x-mcp-header`. */
function toParamHeaders(input: unknown): Record<string, string> {
  const { region, shard } = asRecord(input)
  return {
    ...(isPrimitive(region) && { 'mcp-param-region': toHeaderValue(String(region)) }),
    ...(isPrimitive(shard) && { 'mcp-param-shard': toHeaderValue(String(shard)) }),
  }
}

/** Encodes values that are not printable ASCII in base64. */
export const toHeaderValue = (text: string): string =>
  isPlain(text) && !text.startsWith('=?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`

/** Printable ASCII of limited length: Node closes the connection for larger headers. */
const isPlain = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= maxHeaderLength &&
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)

const maxHeaderLength = 8192

const isShort = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxHeaderLength

const isPrimitive = (value: unknown): value is string | number | boolean =>
  isShort(value) || typeof value === 'number' || typeof value === 'boolean'

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

export interface Posted {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The last message of the body, which is JSON or an SSE stream. */
  readonly answer: Answer
}

export async function postModern(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  id: string | number = 1,
): Promise<Posted> {
  const message = aModernRequest(method, params, id)
  return postMessage(url, message, toModernHeaders(message))
}

const maxAnswerMs = 100_000

/** Sends one message and reads the whole answer. */
export async function postMessage(
  url: string,
  message: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Posted> {
  const body = Buffer.from(JSON.stringify(message))
  // `fetch` of Node 20 never settles for some requests whose server was killed.
  const outgoing = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    agent: false,
    signal: AbortSignal.timeout(maxAnswerMs),
  })
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const text = await readText(response)
  const answer = (toMessages(text).at(-1) ?? {}) as Answer
  const headerPairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return { status: response.statusCode ?? 0, headers: new Headers(headerPairs), text, answer }
}

/** Every message in a body; throws for anything that is not JSON. */
export function toMessages(body: string): unknown[] {
  if (body === '') return []
  if (/^\s*[[{"]/.test(body)) return [JSON.parse(body)].flat()
  return body
    .split(/\r?\n\r?\n/)
    .flatMap((frame) => {
      const lines = frame.split(/\r?\n/)
      const invalid = lines.find(
        (line) => line !== '' && !/^(:|data:|event:|id:|retry:)/.test(line),
      )
      if (invalid !== undefined)
        throw new SyntaxError(`neither SSE nor JSON: ${invalid.slice(0, 200)}`)
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5))
      return [data.join('\n').trim()]
    })
    .filter((data) => data !== '')
    .flatMap((data) => JSON.parse(data))
}
