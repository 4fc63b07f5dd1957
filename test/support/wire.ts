import { anInitialize, toLegacyHeaders } from './legacy-request.ts'
import { aModernRequest, toModernHeaders } from './modern-request.ts'

type Headers = Readonly<Record<string, string>>
type Params = Readonly<Record<string, unknown>>

/** Headers and body of a POST request, for tests of status codes, headers and SSE frames. */
export interface HttpPost {
  readonly headers: Headers
  readonly body: string
}

/** A request of 2026-07-28. */
export function aModernPost(method: string, params: Params = {}, id = 1): HttpPost {
  const message = aModernRequest(method, params, id)
  return { headers: toModernHeaders(message), body: JSON.stringify(message) }
}

/** A request in a 2025 session. */
export const aPostOf2025 = (method: string, params: Params, session: string): HttpPost => ({
  headers: toLegacyHeaders(session),
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
})

export const anInitializePost = (): HttpPost => ({
  headers: toLegacyHeaders(),
  body: JSON.stringify(anInitialize()),
})

export const post = (
  url: string,
  { headers, body }: HttpPost,
  extraHeaders: Headers = {},
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { ...headers, ...extraHeaders },
    body,
    signal: signal ?? null,
  })

/** Sends `initialize` alone, and returns the id of the 2025 session. */
export async function initializeSession(url: string, extraHeaders: Headers = {}): Promise<string> {
  const response = await post(url, anInitializePost(), extraHeaders)
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
