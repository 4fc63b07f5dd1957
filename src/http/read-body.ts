import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyMemory, isSmallBody } from './body-memory.ts'

/** The time that an oversized body is received and discarded, so that the client can read the 413. */
const discardTimeoutMs = 2000

/**
 * The body of a request, or `undefined` when it is larger than `maxBytes`. Small bodies, nearly all of
 * them, are read at once; large ones wait for memory.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  bodyMemory: BodyMemory,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const length = request.headers['content-length']
  const expectedBytes = length === undefined ? maxBytes : Math.min(Number(length), maxBytes)
  if (isSmallBody(expectedBytes)) return readBytes(request, maxBytes)
  const reservation = bodyMemory.reserve(expectedBytes)
  return readLargeBody(request, response, reservation, maxBytes)
}

async function readLargeBody(
  request: IncomingMessage,
  response: ServerResponse,
  reservation: Promise<() => void>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const release = await reservation
  // A client can disconnect while it waits; `close` is not emitted again, so release here.
  if (response.destroyed) {
    release()
    throw new Error('The client disconnected.')
  }
  response.once('close', release)
  const bytes = await readBytes(request, maxBytes)
  // A chunked body can turn out small, and its response can be a stream that stays open for hours.
  if (isSmallBody(bytes?.length ?? 0)) release()
  return bytes
}

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > maxBytes) return discardBody(request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const receiveChunk = (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else {
        request.off('data', receiveChunk)
        resolve(discardBody(request))
      }
    }
    request.on('data', receiveChunk)
    request.on('end', () => {
      const [first] = chunks
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks))
    })
    request.on('error', reject)
  })
}

/** A client that is disconnected while it sends never reads the response: receive, and keep nothing. */
function discardBody(request: IncomingMessage): Promise<undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), discardTimeoutMs)
    request.on('end', () => {
      clearTimeout(timer)
      resolve(undefined)
    })
    request.on('error', () => resolve(undefined))
    request.resume()
  })
}
