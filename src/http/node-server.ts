import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { Cancellation } from '../capability/cancellation.ts'
import { SetupError } from '../capability/setup-error.ts'
import type { Body, EventStream, Headers, HttpReply } from '../mcp/http-port.ts'
import { codes, toErrorBody } from '../mcp/rpc-error.ts'
import type { Arrival } from './arrival.ts'
import type { BodyAdmission } from './body-admission.ts'
import type { Handler } from './handler.ts'
import { readBody } from './read-body.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly handler: Handler
  readonly admission: BodyAdmission
  readonly onError: (error: unknown) => void
}

/** Slowloris: a client that takes longer to send its headers or its body is disconnected. */
const receiveTimeoutMs = 10_000
/** Backpressure: a client with more unread bytes of a stream is disconnected. */
const maxUnreadBytes = 1024 * 1024

/** The time that responses have to reach their clients when the server closes. */
const shutdownGraceMs = 1000

/** The HTTP server. It uses Node's own request and response: web `Request` objects are slower. */
export class NodeServer {
  readonly #server: Server
  #closed: Promise<void> | undefined

  private constructor(server: Server) {
    this.#server = server
  }

  static listen(options: ListenOptions): Promise<NodeServer> {
    const { host, port, handler, admission, onError } = options
    const server = createServer(
      {
        headersTimeout: receiveTimeoutMs,
        requestTimeout: receiveTimeoutMs,
        connectionsCheckingInterval: 1000,
        keepAliveTimeout: 60_000,
        maxHeaderSize: 32 * 1024,
        // Two Host or Authorization headers become one that fails validation. By default Node
        // would keep the first.
        joinDuplicateHeaders: true,
      },
      (request, response) => {
        const cancellation = new Cancellation()
        response.on('close', () => {
          if (!response.writableFinished) cancellation.cancel('The client disconnected.')
        })
        const reply = new NodeReply(response)
        handler(toArrival(request, response, cancellation, admission), reply).catch((error) => {
          onError(error)
          reply.answer(500, toErrorBody({ code: codes.internal, message: 'Internal error' }))
        })
      },
    )
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(toSetupError(error, host, port)),
      )
      server.listen(port, host, () => resolve(new NodeServer(server)))
    })
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Accepts no new connections; requests in progress continue. */
  refuse(): void {
    this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
  }

  /** Waits for responses in progress, then closes the remaining connections. */
  async close(): Promise<void> {
    this.refuse()
    const idleCloser = setInterval(() => this.#server.closeIdleConnections(), 20)
    const timer = setTimeout(() => this.#server.closeAllConnections(), shutdownGraceMs)
    await this.#closed
    clearInterval(idleCloser)
    clearTimeout(timer)
  }
}

function toSetupError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new SetupError(
      `Port ${port} on ${host} is in use. Choose another one with the option port or the flag --port.`,
    )
  return new SetupError(`Cannot listen on ${host}:${port}: ${error.message}`)
}

function toArrival(
  request: IncomingMessage,
  response: ServerResponse,
  cancellation: Cancellation,
  admission: BodyAdmission,
): Arrival {
  const url = request.url ?? '/'
  const queryStart = url.indexOf('?')
  return {
    method: request.method ?? 'GET',
    path: queryStart < 0 ? url : url.slice(0, queryStart),
    query: queryStart < 0 ? '' : url.slice(queryStart + 1),
    // All values are strings except Set-Cookie, which Node keeps as an array.
    headers: request.headers as Arrival['headers'],
    cancellation,
    readBytes: (maxBytes, caller) =>
      readBody(request, { maxBytes, caller, admission, cancellation }),
    onEnd: (listener) => {
      if (response.destroyed) listener()
      else response.once('close', listener)
    },
  }
}

class NodeReply implements HttpReply {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  setHeaders(headers: Headers): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value)
  }

  answer(status: number, body: Body, headers?: Headers): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const parts = typeof body === 'string' ? [body] : body
    let length = 0
    for (const part of parts) length += Buffer.byteLength(part)
    const fields = { 'content-type': 'application/json', 'content-length': length, ...headers }
    // The rest of the body is not read, so the connection cannot be reused.
    if (status === 413 || status === 415 || status === 503) response.shouldKeepAlive = false
    response.writeHead(status, length === 0 ? headers : fields)
    if (parts.length === 1) response.end(parts[0])
    else {
      response.cork()
      for (const part of parts) response.write(part)
      response.end()
    }
  }

  stream(headers?: Headers): EventStream {
    const response = this.#response
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    })
    response.flushHeaders()
    const write = (frame: string) => {
      if (response.destroyed || response.writableEnded) return
      if (response.writableLength > maxUnreadBytes) response.destroy()
      else response.write(frame)
    }
    return {
      send: (message) => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
      keepAlive: () => write(': keepalive\n\n'),
      end: () => response.end(),
      onClose: (listener) => response.once('close', listener),
    }
  }

  pipe({ status, headers, body }: Response): void {
    const response = this.#response
    response.writeHead(status, Object.fromEntries(headers))
    if (!body) {
      response.end()
      return
    }
    response.flushHeaders()
    const stream = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
    stream.on('error', () => response.destroy())
    response.on('close', () => stream.destroy())
    stream.pipe(response)
  }
}
