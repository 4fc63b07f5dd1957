import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * @typedef {{ seconds: number, limit?: number }} Dose stops sending at whichever comes first
 * @typedef {{ done: number, errors: number, latencies: number[] }} Load
 */

const patience = 60_000

/**
 * Closed loop over raw sockets, one request in flight on each: the client of a benchmark must
 * cost less than the fastest server. Ends when everything sent is answered, so that CPU time
 * and requests cover the same work.
 *
 * @param {{ port: number, requests: { bytes: Buffer, counters: number[] }[], dose: Dose,
 *   onConnected: () => void }} options
 * @returns {Promise<Load>}
 */
export const loadHttp = async ({ port, requests, dose, onConnected }) => {
  const sockets = requests.map(() => connect({ port, host: '127.0.0.1', noDelay: true }))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  onConnected()

  const load = { done: 0, errors: 0, latencies: [] }
  const mayGoOn = toStop(dose)
  const drive = (socket, { bytes: request, counters }) =>
    new Promise((resolve, reject) => {
      const read = responseReader()
      let sentAt = 0
      const send = () => {
        if (!mayGoOn()) return resolve()
        sentAt = performance.now()
        for (const place of counters) countUp(request, place)
        socket.write(request)
      }
      socket.on('data', (bytes) => {
        const status = read(bytes)
        if (status === undefined) return
        load.latencies.push(performance.now() - sentAt)
        load.done++
        if (status !== 200) load.errors++
        send()
      })
      socket.setTimeout(patience, () => reject(new Error('no answer')))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server closed a connection in use')))
      send()
    })

  try {
    await Promise.all(sockets.map((socket, index) => drive(socket, requests[index])))
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  return load
}

/** The digits from a place on, as a number, plus one. */
const countUp = (bytes, place) => {
  let at = place
  while (bytes[at + 1] >= 0x30 && bytes[at + 1] <= 0x39) at++
  for (; bytes[at] === 0x39; at--) bytes[at] = 0x30
  bytes[at]++
}

/**
 * Keeps `outstanding` lines on their way. Answers are taken to come in order: good enough for
 * latencies, and the ids are checked before and after a scenario.
 *
 * @param {{ child: import('node:child_process').ChildProcess, toLine: (id: number) => string,
 *   outstanding: number, dose: Dose }} options
 * @returns {Promise<Load>}
 */
export const loadStdio = async ({ child, toLine, outstanding, dose }) => {
  const load = { done: 0, errors: 0, latencies: [] }
  const mayGoOn = toStop(dose)
  const sentAt = []
  let sent = 0
  const send = (count) => {
    let lines = ''
    for (let free = count; free > 0 && mayGoOn(); free--) {
      sentAt.push(performance.now())
      lines += toLine(++sent)
    }
    if (lines !== '') child.stdin.write(lines)
  }

  await new Promise((resolve, reject) => {
    const slow = setTimeout(() => reject(new Error('no answer')), dose.seconds * 1000 + patience)
    const onData = (bytes) => {
      const now = performance.now()
      const before = load.done
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
        load.latencies.push(now - sentAt[load.done++])
      }
      send(load.done - before)
      if (load.done < sent) return
      clearTimeout(slow)
      child.stdout.off('data', onData)
      resolve()
    }
    child.stdout.on('data', onData)
    send(outstanding)
  })
  return load
}

/** @param {Dose} dose */
const toStop = ({ seconds, limit = Number.POSITIVE_INFINITY }) => {
  const until = performance.now() + seconds * 1000
  let left = limit
  return () => left-- > 0 && performance.now() < until
}

/**
 * Finds the end of a response, by content-length or by the last chunk. JSON and SSE hold no
 * carriage return, so the bytes of a last chunk cannot stand inside a body.
 *
 * @returns {(bytes: Buffer) => number | undefined} the status, once the response is whole
 */
const responseReader = () => {
  const lastChunk = '\r\n0\r\n\r\n'
  let head = ''
  let status
  let bodyLeft
  let tail = ''

  return (bytes) => {
    let body = bytes.length
    if (status === undefined) {
      head += bytes.latin1Slice()
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return undefined
      status = Number(head.slice(9, 12))
      bodyLeft = /content-length: *(\d+)/i.exec(head.slice(0, end))?.[1]
      if (bodyLeft !== undefined) bodyLeft = Number(bodyLeft)
      body = head.length - end - 4
    }
    if (bodyLeft === undefined) {
      tail = (tail + bytes.latin1Slice(Math.max(0, bytes.length - 7))).slice(-7)
      if (tail !== lastChunk) return undefined
    } else {
      bodyLeft -= body
      if (bodyLeft > 0) return undefined
    }
    const whole = status
    head = ''
    status = undefined
    tail = ''
    return whole
  }
}
