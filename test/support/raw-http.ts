import { connect, type Socket } from 'node:net'

export interface RawRequest {
  readonly method?: string
  readonly path?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface RawResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The bytes of one request, whole. Header values are written as they are, one byte each. */
export function toBytes({ method = 'POST', path = '/mcp', headers, body }: RawRequest): Buffer {
  const content = Buffer.from(body ?? '')
  const fields = { host: '127.0.0.1', 'content-length': String(content.length), ...headers }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'),
    content,
  ])
}

/** One kept-alive connection. Requests may be sent before earlier ones are answered. */
export class RawConnection {
  readonly #socket: Socket
  readonly #waiting: Waiting[] = []
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
   * Settles when the answer has ended; `until` is for those that have no body, and for streams that
   * never end but have said something.
   */
  send(bytes: Uint8Array, until: Until = 'end'): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed)
      this.#waiting.push({ resolve, reject, until })
      this.#socket.write(bytes)
    })
  }

  /** More of a request whose answer is awaited already. */
  write(bytes: Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const taken = take(this.#received, next.until)
      if (!taken) return
      this.#received = this.#received.subarray(taken.length)
      // An interim answer is followed by the real one.
      if (taken.response.status < 200) continue
      this.#waiting.shift()
      next.resolve(taken.response)
    }
  }

  #end(reason: Error): void {
    if (this.#closed) return
    this.#closed = reason
    const [first, ...others] = this.#waiting.splice(0)
    const untilClose = first && takeUntilClose(this.#received)
    if (untilClose) first.resolve(untilClose)
    else first?.reject(reason)
    for (const { reject } of others) reject(reason)
  }
}

export type Until = 'end' | 'head' | 'event'

interface Waiting {
  readonly resolve: (response: RawResponse) => void
  readonly reject: (reason: Error) => void
  readonly until: Until
}

interface Taken {
  readonly response: RawResponse
  readonly length: number
}

function take(bytes: Buffer, until: Until): Taken | undefined {
  const head = readHead(bytes)
  if (!head) return undefined
  const { status, headers, length: start } = head
  const whole = (body: string, length: number): Taken => ({
    response: { status, headers, body },
    length,
  })
  if (until === 'head' || status < 200 || status === 204 || status === 304) return whole('', start)
  if (headers['transfer-encoding'] === 'chunked') {
    // Quickly, for those who receive megabytes: without this there is no last chunk.
    if (until === 'end' && bytes.indexOf('\r\n0\r\n\r\n', start - 2) < 0) return undefined
    const chunks = readChunks(bytes, start)
    if (chunks.length !== undefined) return whole(chunks.body, chunks.length)
    const said = until === 'event' && chunks.body.includes('\n\n')
    return said ? whole(chunks.body, bytes.length) : undefined
  }
  if (headers['content-length'] === undefined) return undefined
  const end = start + Number(headers['content-length'])
  return bytes.length < end ? undefined : whole(bytes.toString('utf8', start, end), end)
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

/** `length` is absent as long as the last chunk has not come. */
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
