import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Cancellation } from '../capability/cancellation.ts'
import { SetupError } from '../capability/setup-error.ts'
import { codes, toErrorBody } from '../mcp/rpc-error.ts'
import type { Arrival } from './arrival.ts'
import type { BodyAdmission } from './body-admission.ts'
import type { Handler } from './handler.ts'
import { NodeReply } from './node-reply.ts'
import { type ReadOptions, readBody } from './read-body.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly handler: Handler
  readonly admission: BodyAdmission
  readonly onError: (error: unknown) => void
}

/** Slowloris: a client that takes longer to send its headers or its body is disconnected. */
const receiveTimeoutMs = 10_000
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
        closeWithConnection(response)
        const reply = new NodeReply(response, onError)
        const fail = (error: unknown) => {
          onError(error)
          reply.answer(500, toErrorBody({ code: codes.internal, message: 'Internal error' }))
        }
        try {
          handler(new NodeArrival(request, response, admission), reply)?.catch(fail)
        } catch (error) {
          fail(error)
        }
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

/**
 * Pipelining: a response that waits behind an earlier one has no socket yet, and Node does not emit its `close` when
 * the connection is lost. What the request holds would never be released.
 */
function closeWithConnection(response: ServerResponse): void {
  if (response.socket) return
  const { socket } = response.req
  const close = () => {
    if (response.socket) return
    response.destroy()
    response.emit('close')
  }
  socket.setMaxListeners(0).once('close', close)
  response.once('close', () => socket.off('close', close))
}

/** A class, because one is created per request: closures would cost more. */
class NodeArrival implements Arrival {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Arrival['headers']
  readonly cancellation = new Cancellation()
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #admission: BodyAdmission

  constructor(request: IncomingMessage, response: ServerResponse, admission: BodyAdmission) {
    const { method = 'GET', url = '/' } = request
    const queryStart = url.indexOf('?')
    this.method = method
    this.path = queryStart < 0 ? url : url.slice(0, queryStart)
    this.query = queryStart < 0 ? '' : url.slice(queryStart + 1)
    // All values are strings except Set-Cookie, which Node keeps as an array.
    this.headers = request.headers as Arrival['headers']
    this.#request = request
    this.#response = response
    this.#admission = admission
    response.on('close', () => {
      if (!response.writableFinished) this.cancellation.cancel('The client disconnected.')
    })
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress
  }

  readBytes(maxBytes: number, caller: string): ReturnType<Arrival['readBytes']> {
    const options: ReadOptions = {
      maxBytes,
      caller,
      admission: this.#admission,
      cancellation: this.cancellation,
    }
    return readBody(this.#request, options)
  }

  onEnd(listener: () => void): void {
    if (this.#response.destroyed) listener()
    else this.#response.once('close', listener)
  }
}
