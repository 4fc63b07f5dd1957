import { anInitialize as anInitializeMessage, toLegacyHeaders } from './legacy-request.ts'
import { aModernRequest as aModernMessage, toModernHeaders } from './modern-request.ts'

type Headers = Readonly<Record<string, string>>
type Params = Readonly<Record<string, unknown>>

/** A POST request, for tests of status codes, headers and SSE frames. */
export interface Sending {
  readonly headers: Headers
  readonly body: string
}

/** A request of 2026-07-28. */
export function aModernRequest(method: string, params: Params = {}, id = 1): Sending {
  const message = aModernMessage(method, params, id)
  return { headers: toModernHeaders(message), body: JSON.stringify(message) }
}

/** A request in a 2025 session. */
export const aRequestOf2025 = (method: string, params: Params, session: string): Sending => ({
  headers: toLegacyHeaders(session),
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
})

export const anInitialize = (): Sending => ({
  headers: toLegacyHeaders(),
  body: JSON.stringify(anInitializeMessage()),
})

export const post = (
  url: string,
  { headers, body }: Sending,
  more: Headers = {},
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { ...headers, ...more }, body, signal: signal ?? null })

/** Opens a 2025 session, and returns its id. */
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

/** The server-sent events of a response. */
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

/** The JSON-RPC answer of a response, which is JSON or an SSE stream. */
export async function answerOf(response: Response) {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return JSON.parse(await response.text())
  for await (const { data } of framesOf(response)) {
    const message = data === '' ? {} : JSON.parse(data)
    if ('result' in message || 'error' in message) return message
  }
  throw new Error('the stream ended without an answer')
}
