import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'

/** One POST and all that came back, or why nothing usable did. */
export type PostResult = PostReply | PostFailure

export interface PostReply {
  readonly kind: 'reply'
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Whole where the status is a success; else as much of it as came, up to a few kilobytes. */
  readonly body: Buffer
}

export interface PostFailure {
  readonly kind: 'broken'
  readonly how: 'lost' | 'garbled' | 'too_large'
  /** Whether any of it can have arrived. */
  readonly sent: boolean
  readonly cause: string
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly agent: http.Agent
  readonly signal: AbortSignal
  /** Bytes of a successful answer. */
  readonly limit: number
}

const largestHead = 32 * 1024
const largestComplaint = 16 * 1024
/** What a chunk counts for at least: to take in millions of tiny ones would keep others waiting. */
const lightestChunk = 32

/**
 * Over `node:http` and not `fetch`, because it says whether a connection stood before it broke, has
 * no clock of its own, and follows and unpacks nothing. Throws when a header cannot be sent.
 */
export function post(url: URL, { headers, body, agent, signal, limit }: PostOptions) {
  const secure = url.protocol === 'https:'
  const request = (secure ? https : http).request(url, {
    method: 'POST',
    agent,
    headers,
    signal,
    maxHeaderSize: largestHead,
  })
  return new Promise<PostResult>((resolve) => {
    let sent = false
    let answering = false
    let first: NodeJS.ErrnoException | undefined
    const broken: Break = (error) => {
      first ??= error
      return toBroken(first, sent)
    }
    request.on('socket', (socket) => {
      if (request.reusedSocket || !socket.connecting) sent = true
      else
        socket.once(secure ? 'secureConnect' : 'connect', () => {
          sent = true
        })
    })
    request.on('response', (response) => {
      answering = true
      read(response, limit, broken).then(resolve)
    })
    // Where an answer has begun, its reader says what became of it.
    request.on('error', (error) => {
      const end = broken(error)
      if (!answering) resolve(end)
    })
    request.on('close', () => {
      if (!answering) resolve(broken())
    })
    request.end(body)
  })
}

/** What the connection broke of: the first that went wrong, all else follows from it. */
type Break = (error?: NodeJS.ErrnoException) => PostFailure

function read(response: IncomingMessage, limit: number, broken: Break): Promise<PostResult> {
  const { statusCode: status = 0, headers } = response
  const succeeded = status >= 200 && status < 300
  const most = succeeded ? limit : largestComplaint
  let body: Buffer = Buffer.alloc(0)
  let size = 0
  let chunks = 0
  return new Promise((resolve) => {
    const finish = (posted: PostResult) => {
      resolve(posted)
      response.destroy()
    }
    const reply = (): PostReply => ({
      kind: 'reply',
      status,
      headers,
      body: body.subarray(0, size),
    })
    const overflow = () => finish(succeeded ? tooLarge : reply())
    if (succeeded && Number(headers['content-length']) > most) return overflow()
    // Not as a stream that is waited for: that would gather tiny chunks by the thousand.
    response.on('data', (chunk: Buffer) => {
      body = withRoom(body, size + chunk.length, most)
      const copied = chunk.copy(body, size)
      size += copied
      if (copied < chunk.length || ++chunks * lightestChunk > most) overflow()
    })
    response.on('end', () => resolve(reply()))
    // What a refusal goes on to say no longer matters.
    response.on('error', (error) => finish(succeeded ? broken(error) : reply()))
    response.on('close', () => resolve(succeeded ? broken() : reply()))
  })
}

const tooLarge: PostFailure = { kind: 'broken', how: 'too_large', sent: true, cause: 'too large' }

/** One growing buffer: a list of millions of tiny chunks would outweigh the limit by far. */
function withRoom(body: Buffer, needed: number, most: number): Buffer {
  if (needed <= body.length || body.length === most) return body
  const larger = Buffer.allocUnsafe(Math.min(most, Math.max(needed, 2 * body.length, 4096)))
  body.copy(larger)
  return larger
}

function toBroken(error: NodeJS.ErrnoException | undefined, sent: boolean): PostFailure {
  const code = error?.code ?? ''
  const how = code.startsWith('HPE_') ? 'garbled' : 'lost'
  return { kind: 'broken', how, sent, cause: error ? `${code} ${error.message}`.trim() : 'closed' }
}
