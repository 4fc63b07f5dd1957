import { isListen } from '../fuzz/http-mutant.ts'
import { anInitialize, initialized, toLegacyHeaders } from '../support/legacy-request.ts'
import { toMessages } from '../support/modern-request.ts'
import { RawConnection, type RawRequest, type RawResponse, toBytes } from '../support/raw-http.ts'
import type { Reply, ReplyMessage } from './reply.ts'

/** One client of a server over HTTP: a keep-alive connection with a 2025 session. */
export class HttpLane {
  readonly #port: number
  #connection: RawConnection
  session = ''

  private constructor(port: number, connection: RawConnection) {
    this.#port = port
    this.#connection = connection
  }

  static async open(port: number): Promise<HttpLane> {
    const lane = new HttpLane(port, await RawConnection.open(port))
    await lane.openSession()
    return lane
  }

  async openSession(): Promise<void> {
    const body = JSON.stringify(anInitialize())
    const response = await this.#connection.send(toBytes({ headers: toLegacyHeaders(), body }))
    this.session = response.headers['mcp-session-id'] ?? ''
    await this.send({
      headers: toLegacyHeaders(this.session),
      body: JSON.stringify(initialized),
    })
  }

  /** `alone`: on a connection of its own, because the server may close it or keep it open. */
  async send(request: RawRequest, alone = false): Promise<Reply> {
    if (!alone) return toReply(request, await this.#connection.send(toBytes(request)))
    const connection = await RawConnection.open(this.#port)
    try {
      const until = ['GET', 'HEAD'].includes(request.method ?? 'POST')
        ? 'head'
        : isListen(parse(String(request.body)))
          ? 'event'
          : 'end'
      return toReply(request, await connection.send(toBytes(request), until))
    } finally {
      connection.close()
    }
  }

  close(): void {
    this.#connection.close()
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toReply({ headers }: RawRequest, response: RawResponse): Reply {
  const session = response.headers['mcp-session-id']
  return {
    status: response.status,
    opensSession: session !== undefined && !Object.values(headers).includes(session),
    messages: toMessages(response.body) as ReplyMessage[],
  }
}
