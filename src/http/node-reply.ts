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
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  setHeaders(headers: Headers): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value)
  }

  answer(status: number, body: Body, headers?: Headers): void {
    const response = this.#response
    if (response.headersSent || response.destroyed) return
    // The rest of the body is not read, so the connection cannot be reused.
    if (status === 413 || status === 415 || status === 503) response.shouldKeepAlive = false
    if (typeof body !== 'string') return this.#answerParts(status, body, headers)
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
      onClose: (listener) => response.once('close', listener),
    }
  }

  #answerParts(
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

const toFields = (length: number, headers: Headers | undefined) =>
  headers === undefined
    ? { 'content-type': 'application/json', 'content-length': length }
    : { 'content-type': 'application/json', 'content-length': length, ...headers }
