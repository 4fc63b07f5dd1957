import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface RawServer {
  readonly url: string
  readonly requests: ReceivedRequest[]
}

export interface ReceivedRequest {
  readonly line: string
  /** Keys are lower-case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Respond = (socket: Socket, request: ReceivedRequest) => void

/** An HTTP server whose responses are raw bytes written by the test. */
export async function aRawServer(respond: Respond): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const requests: ReceivedRequest[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      for (let next = takeRequest(received); next; next = takeRequest(received)) {
        received = received.subarray(next.length)
        requests.push(next.request)
        respond(socket, next.request)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, requests }
}

function takeRequest(bytes: Buffer) {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
    }),
  )
  const length = end + 4 + Number(headers['content-length'] ?? 0)
  if (bytes.length < length) return undefined
  const body = bytes.subarray(end + 4, length).toString()
  return { length, request: { line, headers, body } }
}

/** Writes a valid HTTP response. */
export function reply(
  socket: Socket,
  status: number,
  body = '',
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): void {
  const fields = { 'content-length': String(Buffer.byteLength(body)), ...headers }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} X\r\n${head.join('')}\r\n${body}`)
}
