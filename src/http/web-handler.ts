import { Cancellation } from '../capability/cancellation.ts'
import {
  type Body,
  type EventStream,
  type Headers,
  type HttpReply,
  toText,
} from '../mcp/http-port.ts'
import type { BodyRefusal } from './arrival.ts'
import { type BodyAdmission, isSmallBody } from './body-admission.ts'
import type { Handler } from './handler.ts'
import type { ReadOptions } from './read-body.ts'
import { keepAliveComment, toEvent, toPrimingEvent } from './server-sent-events.ts'

/** A client that takes longer to send its body is refused. */
const receiveTimeoutMs = 10_000

/** Backpressure: the stream of a client with more unread bytes is closed, as in `node-reply.ts`. */
const maxUnreadBytes = 1024 * 1024

/** Adapts the handler to web `Request` and `Response`, for other runtimes and frameworks. */
export function toFetch(
  handler: Handler,
  admission: BodyAdmission,
): (request: Request) => Promise<Response> {
  return (request) =>
    new Promise((resolve, reject) => {
      const cancellation = new Cancellation()
      request.signal.addEventListener('abort', () =>
        cancellation.cancel('The client disconnected.'),
      )
      const url = new URL(request.url)
      const headers = Object.fromEntries(request.headers)
      const reply = new WebReply(resolve, cancellation)
      handler(
        {
          method: request.method,
          path: url.pathname,
          query: url.search.slice(1),
          // A `Request` that was created in process has no Host header; its URL has the host.
          headers: { ...headers, host: headers.host ?? url.host },
          address: undefined,
          cancellation,
          readBytes: (maxBytes, caller) =>
            readBytes(request, { maxBytes, caller, admission, cancellation }),
          onEnd: (listener) => reply.onEnd(listener),
        },
        reply,
      )?.catch(reject)
    })
}

async function readBytes(
  request: Request,
  { maxBytes, caller, admission, cancellation }: ReadOptions,
): Promise<Buffer | BodyRefusal> {
  if (!request.body) return Buffer.alloc(0)
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  let isAdmitted = false
  let isLate = false
  // Slowloris: a server in front may have no time limit.
  const timer = setTimeout(() => {
    isLate = true
    void reader.cancel().catch(() => {})
  }, receiveTimeoutMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) return 'too_slow'
      if (done) return Buffer.concat(chunks)
      size += value.length
      if (size > maxBytes) return 'too_large'
      chunks.push(value)
      if (isAdmitted || isSmallBody(size)) continue
      isAdmitted = await admission.admit(caller, maxBytes, cancellation)
      if (!isAdmitted) return 'busy'
    }
  } finally {
    clearTimeout(timer)
    if (isAdmitted) admission.release(caller, maxBytes)
  }
}

class WebReply implements HttpReply {
  readonly #resolve: (response: Response) => void
  readonly #cancellation: Cancellation
  readonly #endListeners: (() => void)[] = []
  #headers: Headers = {}
  #isEnded = false

  constructor(resolve: (response: Response) => void, cancellation: Cancellation) {
    this.#resolve = resolve
    this.#cancellation = cancellation
  }

  onEnd(listener: () => void): void {
    if (this.#isEnded) listener()
    else this.#endListeners.push(listener)
  }

  #end(): void {
    this.#isEnded = true
    for (const listener of this.#endListeners.splice(0)) listener()
  }

  setHeaders(headers: Headers): void {
    this.#headers = headers
  }

  answer(status: number, body: Body, headers?: Headers): void {
    this.#end()
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
      this.#end()
      for (const listener of listeners.splice(0)) listener()
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (streamController) => {
          controller = streamController
        },
        cancel: () => {
          this.#cancellation.cancel('The client disconnected.')
          close()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    )
    const fields = {
      ...this.#headers,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      ...headers,
    }
    this.#resolve(new Response(body, { headers: fields }))
    const write = (frame: string) => {
      if (!controller) return
      if (-(controller.desiredSize ?? 0) <= maxUnreadBytes)
        return controller.enqueue(encoder.encode(frame))
      controller.error(new Error('The client does not read the stream.'))
      this.#cancellation.cancel('The client does not read the stream.')
      close()
    }
    return {
      send: (message, id) => write(toEvent(toText(message), id)),
      prime: (id, retryMs) => write(toPrimingEvent(id, retryMs)),
      keepAlive: () => write(keepAliveComment),
      end: () => {
        controller?.close()
        close()
      },
      onClose: (listener) => {
        if (controller) listeners.push(listener)
        else listener()
      },
    }
  }
}

const toBytes = (part: string | Uint8Array): Uint8Array =>
  typeof part === 'string' ? Buffer.from(part) : part
