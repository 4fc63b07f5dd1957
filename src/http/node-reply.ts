import type { ServerResponse } from 'node:http'
import {
  type Body,
  type EventStream,
  type Headers,
  type HttpReply,
  toText,
} from '../mcp/http-port.ts'
import { keepAliveComment, toEvent, toPrimingEvent } from './server-sent-events.ts'

/** Backpressure: a client with more unread bytes of a stream is disconnected. */
const maxUnreadBytes = 1024 * 1024

/** Sends a response with Node's own object: web `Response` objects are slower. */
export class NodeReply implements HttpReply {
  /** Answers of this turn of the event loop, which are sent together. */
  static #unsent: NodeReply[] = []
  readonly #response: ServerResponse
  readonly #onError: (error: unknown) => void
  #answer: Answer | undefined

  constructor(response: ServerResponse, onError: (error: unknown) => void) {
    this.#response = response
    this.#onError = onError
  }

  setHeaders(headers: Headers): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value)
  }

  /**
   * Waits until the requests that have arrived are read: each answer wakes its client up, and to answer between two reads
   * costs a busy server a third more CPU time.
   */
  answer(status: number, body: Body, headers?: Headers): void {
    if (this.#answer || this.#response.headersSent) return
    this.#answer = { status, body, headers }
    if (NodeReply.#unsent.push(this) === 1) setImmediate(NodeReply.#sendAll)
  }

  static #sendAll(): void {
    const replies = NodeReply.#unsent
    NodeReply.#unsent = []
    for (const reply of replies)
      try {
        reply.#send()
      } catch (error) {
        // A header with a line break, for example. The others have to be sent.
        reply.#response.destroy()
        reply.#onError(error)
      }
  }

  #send(): void {
    const response = this.#response
    if (!this.#answer || response.destroyed) return
    const { status, body, headers } = this.#answer
    // The rest of the body is not read, so the connection cannot be reused.
    if (status === 413 || status === 415 || status === 503) response.shouldKeepAlive = false
    if (typeof body !== 'string') return this.#sendParts(status, body, headers)
    if (body === '') response.writeHead(status, headers)
    else response.writeHead(status, toFields(Buffer.byteLength(body), headers))
    response.end(body)
  }

  stream(headers?: Headers): EventStream {
    const response = this.#response
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    })
    response.flushHeaders()
    const write = (frame: string) => {
      if (response.destroyed || response.writableEnded) return
      if (response.writableLength > maxUnreadBytes) response.destroy()
      else response.write(frame)
    }
    return {
      send: (message, id) => write(toEvent(toText(message), id)),
      prime: (id, retryMs) => write(toPrimingEvent(id, retryMs)),
      keepAlive: () => write(keepAliveComment),
      end: () => response.end(),
      onClose: (listener) => {
        // The client may have disconnected before the stream was opened; `close` is not emitted again.
        if (response.destroyed) listener()
        else response.once('close', listener)
      },
    }
  }

  #sendParts(
    status: number,
    parts: readonly (string | Uint8Array)[],
    headers: Headers | undefined,
  ): void {
    const response = this.#response
    let length = 0
    for (const part of parts) length += Buffer.byteLength(part)
    response.writeHead(status, toFields(length, headers))
    response.cork()
    for (const part of parts) response.write(part)
    response.end()
  }
}

interface Answer {
  readonly status: number
  readonly body: Body
  readonly headers: Headers | undefined
}

const toFields = (length: number, headers: Headers | undefined) =>
  headers === undefined
    ? { 'content-type': 'application/json', 'content-length': length }
    : { 'content-type': 'application/json', 'content-length': length, ...headers }
