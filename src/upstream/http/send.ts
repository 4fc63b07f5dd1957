import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Fault } from '../../capability/fault.ts'
import { EgressError } from '../egress/egress.ts'

/** The response to a request, or why there is none. */
export type SendResult = HttpReply | SendFailure

export interface HttpReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Complete for a 2xx status; otherwise truncated to `maxErrorBytes`. */
  readonly body: Buffer
}

export interface SendFailure
  extends Fault<'egress_refused' | 'connection_lost' | 'malformed_http' | 'too_large'> {
  /** `true` if the server may have received the request. */
  readonly wasSent: boolean
  readonly cause: string
}

export interface SendOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly agent: http.Agent
  readonly signal: AbortSignal
  /** The limit for the body of a 2xx response. */
  readonly maxBytes: number
}

const maxHeaderBytes = 32 * 1024
const maxErrorBytes = 16 * 1024
/** Every chunk counts as at least this size: millions of tiny ones would block the event loop. */
const minChunkBytes = 32

/**
 * Uses `node:http` instead of `fetch`: it reveals whether the connection was established before it
 * failed, has no timeout of its own, and neither follows redirects nor decompresses. Throws for an
 * invalid header.
 */
export function send(
  url: URL,
  { method, headers, body, agent, signal, maxBytes }: SendOptions,
): Promise<SendResult> {
  const isSecure = url.protocol === 'https:'
  const request = (isSecure ? https : http).request(url, {
    method,
    agent,
    headers,
    signal,
    maxHeaderSize: maxHeaderBytes,
  })
  return new Promise<SendResult>((resolve) => {
    let wasSent = false
    let hasResponse = false
    let firstError: NodeJS.ErrnoException | undefined
    const fail: Fail = (error) => {
      firstError ??= error
      return toSendFailure(firstError, wasSent)
    }
    request.on('socket', (socket) => {
      if (request.reusedSocket || !socket.connecting) wasSent = true
      else
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          wasSent = true
        })
    })
    request.on('response', (response) => {
      hasResponse = true
      // The length that a HEAD response announces is that of a GET.
      readBody(response, method === 'HEAD' ? Infinity : maxBytes, fail).then(resolve)
    })
    // Once a response has begun, `readBody` decides the result.
    request.on('error', (error) => {
      const failure = fail(error)
      if (!hasResponse) resolve(failure)
    })
    request.on('close', () => {
      if (!hasResponse) resolve(fail())
    })
    request.end(body)
  })
}

/** Reports the first error of the connection; later errors are consequences of it. */
type Fail = (error?: NodeJS.ErrnoException) => SendFailure

function readBody(response: IncomingMessage, maxBytes: number, fail: Fail): Promise<SendResult> {
  const { statusCode: status = 0, headers } = response
  const isSuccess = status >= 200 && status < 300
  const limit = isSuccess ? maxBytes : maxErrorBytes
  let body: Buffer = Buffer.alloc(0)
  let size = 0
  let chunks = 0
  return new Promise((resolve) => {
    const finish = (result: SendResult) => {
      resolve(result)
      response.destroy()
    }
    const reply = (): HttpReply => ({
      status,
      headers,
      body: body.subarray(0, size),
    })
    const overflow = () => finish(isSuccess ? tooLarge : reply())
    if (isSuccess && Number(headers['content-length']) > limit) return overflow()
    // Events instead of async iteration, which would queue thousands of tiny chunks.
    response.on('data', (chunk: Buffer) => {
      body = withCapacity(body, size + chunk.length, limit)
      const copiedBytes = chunk.copy(body, size)
      size += copiedBytes
      if (copiedBytes < chunk.length || ++chunks * minChunkBytes > limit) overflow()
    })
    response.on('end', () => resolve(reply()))
    // A truncated error body is still a usable reply.
    response.on('error', (error) => finish(isSuccess ? fail(error) : reply()))
    response.on('close', () => resolve(isSuccess ? fail() : reply()))
  })
}

const tooLarge: SendFailure = {
  fault: 'too_large',
  wasSent: true,
  cause: 'too large',
}

/** One growing buffer: a list of many tiny chunks would use far more memory than the limit. */
function withCapacity(body: Buffer, minBytes: number, limit: number): Buffer {
  if (minBytes <= body.length || body.length === limit) return body
  const largerBody = Buffer.allocUnsafe(Math.min(limit, Math.max(minBytes, 2 * body.length, 4096)))
  body.copy(largerBody)
  return largerBody
}

function toSendFailure(error: NodeJS.ErrnoException | undefined, wasSent: boolean): SendFailure {
  if (error instanceof EgressError)
    return { fault: 'egress_refused', wasSent: false, cause: error.message }
  const code = error?.code ?? ''
  return {
    fault: code.startsWith('HPE_') ? 'malformed_http' : 'connection_lost',
    wasSent,
    cause: error ? `${code} ${error.message}`.trim() : 'closed',
  }
}
