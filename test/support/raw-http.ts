import { connect, type Socket } from 'node:net'

export interface RawRequest {
  readonly method?: string
  readonly path?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface RawResponse {
  readonly status: number
  /** Keys are lower-case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The bytes of one request. Header values are written as Latin-1, without validation. */
export function toBytes({ method = 'POST', path = '/mcp', headers, body }: RawRequest): Buffer {
  const content = Buffer.from(body ?? '')
  const fields = { host: '127.0.0.1', 'content-length': String(content.length), ...headers }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'),
    content,
  ])
}

/** A keep-alive connection with pipelining. */
export class RawConnection {
  readonly #socket: Socket
  readonly #pending: PendingResponse[] = []
  #received: Buffer = Buffer.alloc(0)
  #closed: Error | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#read()
    })
    socket.on('error', (error) => this.#end(error))
    socket.on('close', () => this.#end(new Error('The server closed the connection')))
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new RawConnection(socket)))
    })
  }

  /**
   * Resolves when the response has ended; with `until`, after the head of a response without a body,
   * or after the first event of an endless stream.
   */
  send(bytes: Uint8Array, until: Until = 'end'): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed)
      this.#pending.push({ resolve, reject, until })
      this.#socket.write(bytes)
    })
  }

  /** Writes more bytes of a request that was already sent in part. */
  write(bytes: Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(): void {
    for (let next = this.#pending[0]; next; next = this.#pending[0]) {
      const parsed = takeResponse(this.#received, next.until)
      if (!parsed) return
      this.#received = this.#received.subarray(parsed.length)
      // A 1xx response is followed by the final one.
      if (parsed.response.status < 200) continue
      this.#pending.shift()
      next.resolve(parsed.response)
    }
  }

  #end(reason: Error): void {
    if (this.#closed) return
    this.#closed = reason
    const [first, ...others] = this.#pending.splice(0)
    const untilClose = first && takeUntilClose(this.#received)
    if (untilClose) first.resolve(untilClose)
    else first?.reject(reason)
    for (const { reject } of others) reject(reason)
  }
}

export type Until = 'end' | 'head' | 'event'

interface PendingResponse {
  readonly resolve: (response: RawResponse) => void
  readonly reject: (reason: Error) => void
  readonly until: Until
}

interface ParsedResponse {
  readonly response: RawResponse
  readonly length: number
}

function takeResponse(bytes: Buffer, until: Until): ParsedResponse | undefined {
  const head = readHead(bytes)
  if (!head) return undefined
  const { status, headers, length: start } = head
  const toParsed = (body: string, length: number): ParsedResponse => ({
    response: { status, headers, body },
    length,
  })
  if (until === 'head' || status < 200 || status === 204 || status === 304)
    return toParsed('', start)
  if (headers['transfer-encoding'] === 'chunked') {
    // A fast check for large bodies: parses the chunks only when the last one has arrived.
    if (until === 'end' && bytes.indexOf('\r\n0\r\n\r\n', start - 2) < 0) return undefined
    const chunks = readChunks(bytes, start)
    if (chunks.length !== undefined) return toParsed(chunks.body, chunks.length)
    const hasEvent = until === 'event' && chunks.body.includes('\n\n')
    return hasEvent ? toParsed(chunks.body, bytes.length) : undefined
  }
  if (headers['content-length'] === undefined) return undefined
  const end = start + Number(headers['content-length'])
  return bytes.length < end ? undefined : toParsed(bytes.toString('utf8', start, end), end)
}

function takeUntilClose(bytes: Buffer): RawResponse | undefined {
  const head = readHead(bytes)
  if (!head || head.headers['content-length'] || head.headers['transfer-encoding']) return undefined
  const { status, headers, length } = head
  return { status, headers, body: bytes.toString('utf8', length) }
}

function readHead(bytes: Buffer) {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...fields] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const colon = field.indexOf(':')
    headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim()
  }
  return { status, headers, length: end + 4 }
}

/** `length` is absent until the last chunk has arrived. */
function readChunks(bytes: Buffer, start: number): { body: string; length?: number } {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return { body: Buffer.concat(parts).toString() }
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size
    if (bytes.length < end + 2) return { body: Buffer.concat(parts).toString() }
    if (size === 0) return { body: Buffer.concat(parts).toString(), length: end + 2 }
    parts.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}
