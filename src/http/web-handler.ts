import { Cancellation } from '../capability/cancellation.ts'
import type { Body, EventStream, Headers, HttpReply } from '../mcp/http-port.ts'
import type { Handler } from './handler.ts'

/** The same handler for runtimes and frameworks that speak web `Request` and `Response`. */
export function toFetch(handler: Handler): (request: Request) => Promise<Response> {
  return (request) =>
    new Promise((resolve, reject) => {
      const cancellation = new Cancellation()
      request.signal.addEventListener('abort', () => cancellation.cancel('The client left.'))
      const url = new URL(request.url)
      const headers = Object.fromEntries(request.headers)
      handler(
        {
          method: request.method,
          path: url.pathname,
          query: url.search.slice(1),
          // A `Request` made in process has no Host header: its address says the same.
          headers: { ...headers, host: headers.host ?? url.host },
          cancellation,
          readBody: async (limit) => (await readBytes(request, limit))?.toString(),
          readBytes: (limit) => readBytes(request, limit),
        },
        new WebReply(resolve, cancellation),
      ).catch(reject)
    })
}

async function readBytes(request: Request, limit: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

class WebReply implements HttpReply {
  readonly #resolve: (response: Response) => void
  readonly #cancellation: Cancellation
  #allowed: Headers = {}

  constructor(resolve: (response: Response) => void, cancellation: Cancellation) {
    this.#resolve = resolve
    this.#cancellation = cancellation
  }

  allow(headers: Headers): void {
    this.#allowed = headers
  }

  answer(status: number, body: Body, headers?: Headers): void {
    if (body === '')
      return this.#resolve(
        new Response(null, { status, headers: { ...this.#allowed, ...headers } }),
      )
    const bytes = typeof body === 'string' ? body : Buffer.concat(body.map(toBytes))
    const fields = { ...this.#allowed, 'content-type': 'application/json', ...headers }
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
      start: (started) => {
        controller = started
      },
      cancel: () => {
        this.#cancellation.cancel('The client left.')
        close()
      },
    })
    const fields = {
      ...this.#allowed,
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
    for (const [name, value] of Object.entries(this.#allowed)) response.headers.set(name, value)
    this.#resolve(response)
  }
}

const toBytes = (part: string | Uint8Array): Uint8Array =>
  typeof part === 'string' ? Buffer.from(part) : part
