import type { IncomingMessage } from 'node:http'
import type { Cancellation } from '../capability/cancellation.ts'
import type { BodyRefusal } from './arrival.ts'
import { type BodyAdmission, isSmallBody } from './body-admission.ts'

/** The time that a refused body is received and discarded, so that the client can read the refusal. */
const discardTimeoutMs = 2000

export interface ReadOptions {
  readonly maxBytes: number
  readonly caller: string
  readonly admission: BodyAdmission
  readonly cancellation: Cancellation
}

/** The body of a request. Small bodies, nearly all of them, are read at once; large ones are admitted. */
export function readBody(
  request: IncomingMessage,
  options: ReadOptions,
): Promise<Buffer | BodyRefusal> {
  const length = request.headers['content-length']
  const declaredBytes = length === undefined ? 0 : Number(length)
  if (declaredBytes > options.maxBytes) return discardBody(request, 'too_large', options)
  if (declaredBytes === 0) return receive(request, options)
  if (isSmallBody(declaredBytes)) return receiveSmall(request)
  return readLargeBody(request, declaredBytes, options)
}

/** A body of a small declared length, which Node enforces. It nearly always arrives in one chunk. */
function receiveSmall(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: Buffer | undefined
    request.on('data', (chunk: Buffer) => {
      body = body ? Buffer.concat([body, chunk]) : chunk
    })
    request.on('end', () => resolve(body ?? Buffer.alloc(0)))
    request.on('error', reject)
  })
}

async function readLargeBody(
  request: IncomingMessage,
  bytes: number,
  options: ReadOptions,
): Promise<Buffer | BodyRefusal> {
  const { admission, caller, cancellation } = options
  if (!(await admission.admit(caller, bytes, cancellation)))
    return discardBody(request, 'busy', options)
  try {
    return await receive(request, { ...options, isAdmitted: true })
  } finally {
    admission.release(caller, bytes)
  }
}

function receive(request: IncomingMessage, options: ReceiveOptions): Promise<Buffer | BodyRefusal> {
  const { maxBytes, caller, admission, cancellation } = options
  let { isAdmitted = false } = options
  return new Promise((resolve, reject) => {
    // A client can disconnect while it waits; `error` is not emitted again.
    if (request.destroyed) return reject(new Error('The client disconnected.'))
    const chunks: Buffer[] = []
    let size = 0
    let reservedBytes = 0
    const settle = () => {
      if (reservedBytes > 0) admission.release(caller, reservedBytes)
      reservedBytes = 0
    }
    const refuse = (refusal: BodyRefusal) => {
      settle()
      request.off('data', receiveChunk)
      resolve(discardBody(request, refusal, options))
    }
    /** A body without a length turned out to be large. */
    const admit = async () => {
      request.pause()
      if (!(await admission.admit(caller, maxBytes, cancellation))) return refuse('busy')
      reservedBytes = maxBytes
      if (request.destroyed) settle()
      else request.resume()
    }
    const receiveChunk = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) return refuse('too_large')
      chunks.push(chunk)
      if (isSmallBody(size)) return
      if (isAdmitted) return readOn(request)
      isAdmitted = true
      void admit()
    }
    request.on('data', receiveChunk)
    request.on('end', () => {
      settle()
      const [first] = chunks
      resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks))
    })
    request.on('error', (error) => {
      settle()
      reject(error)
    })
  })
}

interface ReceiveOptions extends ReadOptions {
  readonly isAdmitted?: boolean
}

/** A client that is disconnected while it sends never reads the response: receive, and keep nothing. */
function discardBody(
  request: IncomingMessage,
  refusal: BodyRefusal,
  { admission, caller, maxBytes }: ReadOptions,
): Promise<BodyRefusal> {
  const bytes = Number(request.headers['content-length'] ?? maxBytes)
  if (!admission.mayDiscard(caller, bytes)) {
    request.pause()
    return Promise.resolve(refusal)
  }
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(refusal), discardTimeoutMs)
    const end = () => {
      clearTimeout(timer)
      resolve(refusal)
    }
    request.on('end', end)
    request.on('error', end)
    request.on('data', () => readOn(request))
    request.resume()
  })
}

/**
 * Reads one chunk (64 KB) of a large body in each turn of the event loop. By default Node reads up to
 * 2 MB from every socket before it serves the next one.
 */
function readOn(request: IncomingMessage): void {
  request.pause()
  setImmediate(() => request.resume())
}
