import http from 'node:http'
import https from 'node:https'
import { type Egress, EgressError } from '../../../upstream/egress/egress.ts'
import { createGuardedAgents, type GuardedAgents } from '../../../upstream/egress/guarded-agents.ts'
import {
  maxAnswerBytes,
  type OutgoingFrame,
  type Transport,
  type TransportFault,
  type TransportResult,
} from './transport.ts'

/** POSTs frames. Uses `node:http`, because `fetch` hides whether any byte was sent. */
export class HttpTransport {
  readonly #pooled: GuardedAgents
  readonly #unpooled: GuardedAgents

  constructor(egress: Egress) {
    this.#pooled = createGuardedAgents(egress, {
      keepAlive: true,
      maxSockets: 256,
      timeout: 60_000,
    })
    this.#unpooled = createGuardedAgents(egress, {})
  }

  transportTo(url: string): Transport {
    return (frame) => this.#post(url, frame)
  }

  #post(url: string, frame: OutgoingFrame): Promise<TransportResult> {
    const { body, traceparent, token, mustNotRepeat, signal } = frame
    const secure = url.startsWith('https:')
    const { request } = secure ? https : http
    return new Promise((resolve) => {
      let isSent = false
      const fail = (error: Error) =>
        resolve({ fault: toFault(error, isSent), cause: error.message })
      const outgoing = request(url, {
        method: 'POST',
        // A kept-alive connection may be closing: its reset would leave the outcome in doubt.
        agent: (mustNotRepeat ? this.#unpooled : this.#pooled)[secure ? 'https:' : 'http:'],
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
        const readyEvent = secure ? 'secureConnect' : 'connect'
        const send = () => {
          isSent = true
          outgoing.end(body)
        }
        // Write after the connection is established: an earlier error is then surely `not_sent`.
        if (socket.connecting) socket.once(readyEvent, send)
        else send()
      })
    })
  }

  close(): void {
    for (const agents of [this.#pooled, this.#unpooled])
      for (const agent of Object.values(agents)) agent.destroy()
  }
}

function toFault(error: Error, isSent: boolean): TransportFault['fault'] {
  if (error instanceof EgressError) return 'egress_refused'
  return isSent ? 'no_reply' : 'not_sent'
}

function read(
  response: http.IncomingMessage,
  resolve: (result: TransportResult) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= maxAnswerBytes) chunks.push(chunk)
    else {
      resolve({ fault: 'reply_too_large', cause: `more than ${maxAnswerBytes} bytes` })
      response.destroy()
    }
  })
  response.on('error', fail)
  response.on('aborted', () => fail(new Error('the connection closed in the middle of the answer')))
  response.on('end', () =>
    resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
  )
}
