import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { Cancellation } from '../capability/cancellation.ts'
import { SetupError } from '../capability/setup-error.ts'
import type { Body, EventStream, Headers, HttpReply } from '../mcp/http-port.ts'
import { Admission, isSmall } from './admission.ts'
import type { Arrival, Handler } from './handler.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
  readonly handler: Handler
  readonly onError: (error: unknown) => void
}

/** Sending slower than this is an attack, or a client that nobody can help. */
const slowest = 10_000
/** A reader who is this many bytes behind is not reading. */
const mostBehind = 1024 * 1024

/** How long answers that are written may take to arrive. */
const lastWords = 1000
/** How long somebody may go on sending what nobody wants, so that they get to read why. */
const listening = 2000

/** The server on a socket. Requests are read and answered without a web `Request` in between. */
export class NodeServer {
  readonly #server: Server
  #closed: Promise<void> | undefined

  private constructor(server: Server) {
    this.#server = server
  }

  static listen({ host, port, handler, onError }: ListenOptions): Promise<NodeServer> {
    const admission = new Admission()
    const server = createServer(
      {
        headersTimeout: slowest,
        requestTimeout: slowest,
        connectionsCheckingInterval: 1000,
        keepAliveTimeout: 60_000,
        maxHeaderSize: 32 * 1024,
        // Two of what there may be one of is neither: a joined Host or token is nobody's.
        joinDuplicateHeaders: true,
      },
      (request, response) => {
        const cancellation = new Cancellation()
        response.on('close', () => {
          if (!response.writableFinished) cancellation.cancel('The client left.')
        })
        const reply = new NodeReply(response)
        handler(toArrival(request, response, cancellation, admission), reply).catch((error) => {
          onError(error)
          reply.answer(
            500,
            '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":null}',
          )
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

  /** Takes nothing new; what is under way goes on. */
  refuse(): void {
    this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
  }

  /** Lets what is being written go out, and then closes whatever is left. */
  async close(): Promise<void> {
    this.refuse()
    const idle = setInterval(() => this.#server.closeIdleConnections(), 20)
    const timer = setTimeout(() => this.#server.closeAllConnections(), lastWords)
    await this.#closed
    clearInterval(idle)
    clearTimeout(timer)
  }
}

function toSetupError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new SetupError(`Port ${port} on ${host} is taken. Choose another one with --port.`)
  return new SetupError(`Cannot listen on ${host}:${port}: ${error.message}`)
}

function toArrival(
  request: IncomingMessage,
  response: ServerResponse,
  cancellation: Cancellation,
  admission: Admission,
): Arrival {
  const url = request.url ?? '/'
  const query = url.indexOf('?')
  return {
    method: request.method ?? 'GET',
    path: query < 0 ? url : url.slice(0, query),
    query: query < 0 ? '' : url.slice(query + 1),
    // Node joins what may repeat and keeps the first of what may not.
    headers: request.headers as Arrival['headers'],
    cancellation,
    readBody: async (limit) => (await admit(request, response, admission, limit))?.toString(),
    readBytes: (limit) => admit(request, response, admission, limit),
  }
}

/** What is small, as nearly everything is, does not wait for anything. */
function admit(
  request: IncomingMessage,
  response: ServerResponse,
  admission: Admission,
  limit: number,
): Promise<Buffer | undefined> {
  const said = request.headers['content-length']
  const size = said === undefined ? limit : Math.min(Number(said), limit)
  return isSmall(size) ? readBytes(request, limit) : wait(request, response, admission, size, limit)
}

async function wait(
  request: IncomingMessage,
  response: ServerResponse,
  admission: Admission,
  size: number,
  limit: number,
): Promise<Buffer | undefined> {
  const leave = await admission.enter(size)
  response.once('close', leave)
  const bytes = await readBytes(request, limit)
  // Its length was not said, and it was short after all: its answer may be a stream for a day.
  if (isSmall(bytes?.length ?? 0)) leave()
  return bytes
}

function readBytes(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > limit) return hearOut(request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else {
        request.off('data', take)
        resolve(hearOut(request))
      }
    }
    request.on('data', take)
    request.on('end', () => {
      const [first] = chunks
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks))
    })
    request.on('error', reject)
  })
}

/** Whoever is cut off while sending never reads the answer: listens a while, and keeps nothing. */
function hearOut(request: IncomingMessage): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), listening)
    request.on('end', () => {
      clearTimeout(timer)
      resolve(undefined)
    })
    request.on('error', () => resolve(undefined))
    request.resume()
  })
}

class NodeReply implements HttpReply {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  allow(headers: Headers): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value)
  }

  answer(status: number, body: Body, headers?: Headers): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    const parts = typeof body === 'string' ? [body] : body
    let length = 0
    for (const part of parts) length += Buffer.byteLength(part)
    const fields = { 'content-type': 'application/json', 'content-length': length, ...headers }
    // What the client is still sending will not be read: the connection is of no further use.
    if (status === 413 || status === 415) response.shouldKeepAlive = false
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
      if (response.writableLength > mostBehind) response.destroy()
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
