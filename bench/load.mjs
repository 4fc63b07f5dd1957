import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * @typedef {{ seconds: number, limit?: number }} Duration sending stops at the first of both limits
 * @typedef {{ done: number, errors: number, latencies: number[] }} LoadResult latencies in ms
 */

const answerTimeoutMs = 60_000

/**
 * Closed loop over raw sockets with one request in flight on each: the load generator must cost
 * less than the fastest server. Resolves when all requests are answered, so that CPU time and
 * request count cover the same work.
 *
 * @param {{ port: number, requests: { bytes: Buffer, counters: number[] }[], duration: Duration,
 *   onConnected?: () => void }} options
 * @returns {Promise<LoadResult>}
 */
export const loadHttp = async ({ port, requests, duration, onConnected = () => {} }) => {
  const sockets = requests.map(() => connect({ port, host: '127.0.0.1', noDelay: true }))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  onConnected()

  const result = { done: 0, errors: 0, latencies: [] }
  const maySend = createLimit(duration)
  const drive = (socket, { bytes: request, counters }) =>
    new Promise((resolve, reject) => {
      const read = responseReader()
      let sentAt = 0
      const send = () => {
        if (!maySend()) return resolve()
        sentAt = performance.now()
        for (const offset of counters) increment(request, offset)
        socket.write(request)
      }
      socket.on('data', (bytes) => {
        const status = read(bytes)
        if (status === undefined) return
        result.latencies.push(performance.now() - sentAt)
        result.done++
        if (status !== 200) result.errors++
        send()
      })
      socket.setTimeout(answerTimeoutMs, () => reject(new Error('No answer within the timeout.')))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('The server closed a connection in use.')))
      send()
    })

  try {
    await Promise.all(sockets.map((socket, index) => drive(socket, requests[index])))
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  return result
}

/** Adds one to the decimal number at an offset, in place. */
const increment = (bytes, offset) => {
  let at = offset
  while (bytes[at + 1] >= 0x30 && bytes[at + 1] <= 0x39) at++
  for (; bytes[at] === 0x39; at--) bytes[at] = 0x30
  bytes[at]++
}

/**
 * Keeps `outstanding` requests in flight. Latencies assume that answers arrive in order; ids are
 * checked before and after a scenario.
 *
 * @param {{ child: import('node:child_process').ChildProcess, toLine: (id: number) => string,
 *   outstanding: number, duration: Duration }} options
 * @returns {Promise<LoadResult>}
 */
export const loadStdio = async ({ child, toLine, outstanding, duration }) => {
  const result = { done: 0, errors: 0, latencies: [] }
  const maySend = createLimit(duration)
  const sentAt = []
  let sentCount = 0
  const send = (count) => {
    let lines = ''
    for (let remaining = count; remaining > 0 && maySend(); remaining--) {
      sentAt.push(performance.now())
      lines += toLine(++sentCount)
    }
    if (lines !== '') child.stdin.write(lines)
  }

  await new Promise((resolve, reject) => {
    const timeout = setTimeout(
      () => reject(new Error('No answer within the timeout.')),
      duration.seconds * 1000 + answerTimeoutMs,
    )
    const onData = (bytes) => {
      const now = performance.now()
      const doneBefore = result.done
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
        result.latencies.push(now - sentAt[result.done++])
      }
      send(result.done - doneBefore)
      if (result.done < sentCount) return
      clearTimeout(timeout)
      child.stdout.off('data', onData)
      resolve()
    }
    child.stdout.on('data', onData)
    send(outstanding)
  })
  return result
}

/** @param {Duration} duration */
const createLimit = ({ seconds, limit = Number.POSITIVE_INFINITY }) => {
  const deadline = performance.now() + seconds * 1000
  let remaining = limit
  return () => remaining-- > 0 && performance.now() < deadline
}

/**
 * Finds the end of a response by Content-Length or by the last chunk. JSON and SSE bodies contain
 * no carriage return, so the bytes of a last chunk cannot occur inside a body.
 *
 * @returns {(bytes: Buffer) => number | undefined} the status, once the response is complete
 */
const responseReader = () => {
  const lastChunk = '\r\n0\r\n\r\n'
  let head = ''
  let status
  let bytesLeft
  let tail = ''

  return (bytes) => {
    let body = bytes.length
    if (status === undefined) {
      head += bytes.latin1Slice()
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return undefined
      status = Number(head.slice(9, 12))
      bytesLeft = /content-length: *(\d+)/i.exec(head.slice(0, end))?.[1]
      if (bytesLeft !== undefined) bytesLeft = Number(bytesLeft)
      body = head.length - end - 4
    }
    if (bytesLeft === undefined) {
      tail = (tail + bytes.latin1Slice(Math.max(0, bytes.length - 7))).slice(-7)
      if (tail !== lastChunk) return undefined
    } else {
      bytesLeft -= body
      if (bytesLeft > 0) return undefined
    }
    const completeStatus = status
    head = ''
    status = undefined
    tail = ''
    return completeStatus
  }
}
