import { Cancellation } from '../capability/cancellation.ts'
import type { Body, EventStream, Headers, HttpReply } from '../mcp/http-port.ts'
import type { Handler } from './handler.ts'

/** Adapts the handler to web `Request` and `Response`, for other runtimes and frameworks. */
export function toFetch(handler: Handler): (request: Request) => Promise<Response> {
  return (request) =>
    new Promise((resolve, reject) => {
      const cancellation = new Cancellation()
      request.signal.addEventListener('abort', () =>
        cancellation.cancel('The client disconnected.'),
      )
      const url = new URL(request.url)
      const headers = Object.fromEntries(request.headers)
      handler(
        {
          method: request.method,
          path: url.pathname,
          query: url.search.slice(1),
          // A `Request` that was created in process has no Host header; its URL has the host.
          headers: { ...headers, host: headers.host ?? url.host },
          cancellation,
          readBytes: (maxBytes) => readBytes(request, maxBytes),
        },
        new WebReply(resolve, cancellation),
      ).catch(reject)
    })
}

async function readBytes(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

class WebReply implements HttpReply {
  readonly #resolve: (response: Response) => void
  readonly #cancellation: Cancellation
  #headers: Headers = {}

  constructor(resolve: (response: Response) => void, cancellation: Cancellation) {
    this.#resolve = resolve
    this.#cancellation = cancellation
  }

  setHeaders(headers: Headers): void {
    this.#headers = headers
  }

  answer(status: number, body: Body, headers?: Headers): void {
    if (body === '')
      return this.#resolve(
        new Response(null, { status, headers: { ...this.#headers, ...headers } }),
      )
    const bytes = typeof body === 'string' ? body : Buffer.concat(body.map(toBytes))
    const fields = { ...this.#headers, 'content-type': 'application/json', ...headers }
    this.#resolve(new Response(bytes, { status, headers: fields }))
  }

  stream(headers?: Headers): EventStream {
    const encoder = new TextEncoder()
    const listeners: (() => void)[] = []
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined
    const close = () => {
      controller = undefined
      for (const listener of listeners.splice(0)) listener()
    }
    const body = new ReadableStream<Uint8Array>({
      start: (streamController) => {
        controller = streamController
      },
      cancel: () => {
        this.#cancellation.cancel('The client disconnected.')
        close()
      },
    })
    const fields = {
      ...this.#headers,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      ...headers,
    }
    this.#resolve(new Response(body, { headers: fields }))
    const write = (frame: string) => controller?.enqueue(encoder.encode(frame))
    return {
      send: (message) => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
      keepAlive: () => write(': keepalive\n\n'),
      end: () => {
        controller?.close()
        close()
      },
      onClose: (listener) => listeners.push(listener),
    }
  }

  pipe(response: Response): void {
    for (const [name, value] of Object.entries(this.#headers)) response.headers.set(name, value)
    this.#resolve(response)
  }
}

const toBytes = (part: string | Uint8Array): Uint8Array =>
  typeof part === 'string' ? Buffer.from(part) : part
