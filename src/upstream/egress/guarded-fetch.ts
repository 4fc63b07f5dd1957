import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import type { Egress } from './egress.ts'
import { createGuardedAgents } from './guarded-agents.ts'

/** The part of `fetch` that calls to other servers need. */
export type GuardedFetch = (url: string | URL, init?: GuardedRequest) => Promise<Response>

export interface GuardedRequest {
  readonly method?: string | undefined
  readonly headers?: ConstructorParameters<typeof Headers>[0]
  readonly body?: unknown
  readonly signal?: AbortSignal | null | undefined
}

/** Below the five seconds after which most servers close idle keep-alive connections. */
const maxIdleMs = 4000

const fetches = new WeakMap<Egress, GuardedFetch>()

/**
 * A `fetch` whose connections are decided by `egress`, with one connection pool for each `egress`.
 * Unlike the global one it follows no redirect, decompresses nothing and ignores proxy variables.
 */
export function toGuardedFetch(egress: Egress): GuardedFetch {
  const existing = fetches.get(egress)
  if (existing) return existing
  const agents = createGuardedAgents(egress, {
    keepAlive: true,
    timeout: maxIdleMs,
    scheduling: 'lifo',
  })
  const guardedFetch: GuardedFetch = async (
    input,
    { method = 'GET', headers, body, signal } = {},
  ) => {
    const url = new URL(input)
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new TypeError(`The URL must be http: or https:, not ${url.protocol}`)
    signal?.throwIfAborted()
    return new Promise<Response>((resolve, reject) => {
      const request = (url.protocol === 'https:' ? https : http).request(url, {
        method,
        agent: agents[url.protocol as 'http:' | 'https:'],
        headers: Object.fromEntries(new Headers(headers)),
        ...(signal && { signal }),
      })
      request.on('response', (message) => {
        // A parser error in the body is reported to the request; without this the body only says "aborted".
        request.on('error', (error) => message.destroy(error))
        // At once: the stream must listen to errors that come with the same packet as the headers.
        resolve(toResponse(message))
      })
      request.on('error', reject)
      // An upgrade that nobody asked for closes the connection without an error.
      request.on('close', () => reject(new Error('The connection closed without a response.')))
      request.end(body ?? undefined)
    })
  }
  fetches.set(egress, guardedFetch)
  return guardedFetch
}

const withoutBody = new Set([204, 205, 304])

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  if (withoutBody.has(status)) {
    message.resume()
    return new Response(null, { status, statusText, headers })
  }
  return new Response(Readable.toWeb(message) as ReadableStream, { status, statusText, headers })
}
