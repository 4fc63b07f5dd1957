import http from 'node:http'
import https from 'node:https'
import { maxAnswerBytes, type Transport, type TransportResult } from './transport.ts'

/** Posts JSON and never throws. Not `fetch`: that hides whether anything can have been read. */
export class HttpTransport {
  readonly #agents = {
    'http:': new http.Agent({ keepAlive: true, maxSockets: 256, timeout: 60_000 }),
    'https:': new https.Agent({ keepAlive: true, maxSockets: 256, timeout: 60_000 }),
  }

  /** How an agent behind an address is asked. */
  carry(url: string): Transport {
    return (parcel) => this.#post(url, parcel)
  }

  #post(url: string, parcel: Parameters<Transport>[0]): Promise<TransportResult> {
    const { body, traceparent, token, delicate, signal } = parcel
    const secure = url.startsWith('https:')
    const { request } = secure ? https : http
    return new Promise((resolve) => {
      let written = false
      const fail = (error: Error) =>
        resolve({ failed: written ? 'sent' : 'not_sent', cause: error.message })
      const outgoing = request(url, {
        method: 'POST',
        // A connection of its own: an old one may break for reasons that have nothing to do with this.
        agent: delicate ? false : this.#agents[secure ? 'https:' : 'http:'],
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': Buffer.byteLength(body),
          traceparent,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        signal,
      })
      outgoing.on('error', fail)
      outgoing.on('response', (response) => read(response, resolve, fail))
      outgoing.on('socket', (socket) => {
        const ready = secure ? 'secureConnect' : 'connect'
        const send = () => {
          written = true
          outgoing.end(body)
        }
        // Nothing is handed over before there is somebody at the other end.
        if (socket.connecting) socket.once(ready, send)
        else send()
      })
    })
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }
}

function read(
  response: http.IncomingMessage,
  resolve: (carried: TransportResult) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxAnswerBytes) chunks.push(chunk)
    else {
      resolve({ failed: 'endless', cause: `more than ${maxAnswerBytes} bytes` })
      response.destroy()
    }
  })
  response.on('error', fail)
  response.on('aborted', () => fail(new Error('the answer broke off')))
  response.on('end', () =>
    resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
  )
}
