/** What clients send, byte by byte, for tests that look at status codes, headers and frames. */

type Headers = Readonly<Record<string, string>>
type Params = Readonly<Record<string, unknown>>

export interface Sending {
  readonly headers: Headers
  readonly body: string
}

/** A request of 2026-07-28. */
export function aModernRequest(method: string, params: Params = {}, id = 1): Sending {
  const name = params.name ?? params.uri
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  }
}

/** A request inside a session of 2025. */
export const aRequestOf2025 = (method: string, params: Params = {}, session?: string): Sending => ({
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
    ...(session !== undefined && { 'mcp-session-id': session }),
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
})

export const anInitialize = (): Sending =>
  aRequestOf2025('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
  })

export const post = (url: string, { headers, body }: Sending, more: Headers = {}) =>
  fetch(url, { method: 'POST', headers: { ...headers, ...more }, body })

/** Begins a session of 2025 and gives its id. */
export async function openSession(url: string, more: Headers = {}): Promise<string> {
  const response = await post(url, anInitialize(), more)
  await response.text()
  const id = response.headers.get('mcp-session-id')
  if (id === null) throw new Error(`no session: ${response.status}`)
  return id
}

export interface Frame {
  readonly id: string | undefined
  readonly data: string
}

/** The server-sent events of a response, one after the other. */
export async function* framesOf(response: Response): AsyncGenerator<Frame> {
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string) =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim()
      yield { id: field('id'), data: field('data') ?? '' }
    }
  }
}

/** The JSON-RPC answer of a response, whether it came as JSON or as a stream. */
export async function answerOf(response: Response) {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return JSON.parse(await response.text())
  for await (const { data } of framesOf(response)) {
    const message = data === '' ? {} : JSON.parse(data)
    if ('result' in message || 'error' in message) return message
  }
  throw new Error('the stream ended without an answer')
}
