import http from 'node:http'
import https from 'node:https'

export interface PostRequest {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** On a connection of its own: an old one may break for reasons that have nothing to do with this. */
  readonly fresh: boolean
  readonly signal: AbortSignal
}

/** What came back, or how far it got. */
export type Posted =
  | { readonly status: number; readonly body: string }
  | {
      /** `not_sent`: not a byte of it can have been read. */
      readonly failed: 'not_sent' | 'sent' | 'too_large'
      readonly cause: string
    }

const largest = 4 * 1024 * 1024

/** Posts JSON and never throws. Not `fetch`: that hides whether anything can have been read. */
export class Poster {
  readonly #agents = {
    'http:': new http.Agent({ keepAlive: true, maxSockets: 256, timeout: 60_000 }),
    'https:': new https.Agent({ keepAlive: true, maxSockets: 256, timeout: 60_000 }),
  }

  post({ url, body, headers, fresh, signal }: PostRequest): Promise<Posted> {
    const secure = url.startsWith('https:')
    const { request } = secure ? https : http
    return new Promise((resolve) => {
      let written = false
      const fail = (error: Error) =>
        resolve({ failed: written ? 'sent' : 'not_sent', cause: error.message })
      const outgoing = request(url, {
        method: 'POST',
        agent: fresh ? false : this.#agents[secure ? 'https:' : 'http:'],
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': Buffer.byteLength(body),
          ...headers,
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
  resolve: (posted: Posted) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= largest) chunks.push(chunk)
    else {
      resolve({ failed: 'too_large', cause: `more than ${largest} bytes` })
      response.destroy()
    }
  })
  response.on('error', fail)
  response.on('aborted', () => fail(new Error('the answer broke off')))
  response.on('end', () =>
    resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
  )
}
