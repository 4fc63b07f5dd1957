import { readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { repository } from '../support/spawn-server.ts'
import type { ComparedServer } from './both-servers.ts'
import type { Reply, ReplyMessage } from './reply.ts'

/** A request of a recorded client, or the end of one of its connections. */
export interface HttpStep {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The step whose connection the client closes. */
  readonly close?: number
  /** How many messages of each step the client had received by then, if that has changed. */
  readonly seen: Readonly<Record<string, number | 'end'>>
}

export interface StdioStep {
  readonly line: string
  /** How many messages the client had received by then. */
  readonly seen: number
}

export interface Recording<Step> {
  /** The configuration of the server that the client was connected to. */
  readonly folder: string
  readonly steps: readonly Step[]
}

export const recordingsFolder = path.join(repository, 'test/fixtures/recorded-sessions')

export function readRecording<Step>(file: string): Recording<Step> {
  const lines = readFileSync(path.join(recordingsFolder, file), 'utf8').trim().split('\n')
  const [head, ...steps] = lines.map((line) => JSON.parse(line))
  return { folder: head.folder, steps }
}

/** A server that differs may never send what was seen: the replay goes on then, and the comparison finds it. */
const maxWaitMs = 2000

async function waitUntil(isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + maxWaitMs
  while (!isTrue() && performance.now() < deadline) await sleep(1)
}

/** Sends the requests of a recording in the order of their causes, and returns the reply to each. */
export async function replayHttp(
  { port }: ComparedServer,
  steps: readonly HttpStep[],
): Promise<readonly Reply[]> {
  const sent = new Map<number, SentRequest>()
  for (const [index, step] of steps.entries()) {
    const waits = Object.entries(step.seen).map(([other, count]) => {
      const earlier = sent.get(Number(other))
      return waitUntil(() => !earlier || earlier.hasSeen(count))
    })
    await Promise.all(waits)
    if (step.close === undefined) sent.set(index, new SentRequest(port, step, sent))
    else sent.get(step.close)?.close()
  }
  const replies = [...sent.values()]
  await waitUntil(() => replies.every(({ isEnded, isStream }) => isEnded || isStream))
  for (const reply of replies) reply.close()
  return replies.map((reply) => reply.toReply())
}

class SentRequest {
  readonly isStream: boolean
  isEnded = false
  session: string | undefined
  lastEventId = ''
  readonly #request: ClientRequest
  readonly #sentSession: string | undefined
  readonly #messages: ReplyMessage[] = []
  #status = 0

  constructor(port: number, step: HttpStep, earlier: ReadonlyMap<number, SentRequest>) {
    const { method = 'GET', body = '' } = step
    const fill = (text: string) => fillPlaceholders(text, earlier)
    const bytes = Buffer.from(fill(body))
    const headers = JSON.parse(fill(JSON.stringify(step.headers)))
    this.isStream = method === 'GET' || body.includes('subscriptions/listen')
    this.#sentSession = headers['mcp-session-id']
    this.#request = request({
      port,
      host: '127.0.0.1',
      path: '/mcp',
      method,
      agent: false,
      headers: { ...headers, ...(body !== '' && { 'content-length': bytes.length }) },
    })
    this.#request.on('response', (response) => this.#receive(response))
    this.#request.on('error', () => {
      this.isEnded = true
    })
    this.#request.end(bytes)
  }

  hasSeen(count: number | 'end'): boolean {
    return this.isEnded || (count !== 'end' && this.#messages.length >= count)
  }

  /** The state of the question that was asked last. */
  get state(): unknown {
    return this.#messages.findLast(({ result }) => result?.requestState)?.result?.requestState
  }

  close(): void {
    this.isEnded = true
    this.#request.destroy()
  }

  toReply(): Reply {
    const opensSession = this.session !== undefined && this.session !== this.#sentSession
    return { status: this.#status, opensSession, messages: this.#messages }
  }

  #receive(response: IncomingMessage): void {
    this.#status = response.statusCode ?? 0
    const session = response.headers['mcp-session-id']
    if (typeof session === 'string') this.session = session
    const isEvents = response.headers['content-type']?.startsWith('text/event-stream')
    let text = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (!isEvents) return
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('id: ')) this.lastEventId = line.slice(4)
        if (/^data: ./.test(line)) this.#messages.push(JSON.parse(line.slice(6)))
      }
    })
    response.on('end', () => {
      if (!isEvents && text !== '') this.#messages.push(JSON.parse(text))
      this.isEnded = true
    })
    response.on('error', () => {})
  }
}

/** Puts in what this server chose: sessions, states and event ids. */
const fillPlaceholders = (text: string, earlier: ReadonlyMap<number, SentRequest>): string =>
  text.replace(/«(session|state|event) (\d+)»/g, (_, kind: string, step: string) => {
    const from = earlier.get(Number(step))
    if (kind === 'session') return from?.session ?? ''
    return kind === 'state' ? String(from?.state) : (from?.lastEventId ?? '')
  })

/** Writes the lines of a recording, and returns the answer to each request, and last what belongs to none. */
export async function replayStdio(
  server: ComparedServer,
  steps: readonly StdioStep[],
): Promise<readonly Reply[]> {
  const { input, output } = await server.connect()
  const received: ReplyMessage[] = []
  let text = ''
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) received.push(JSON.parse(line))
  })
  const answerTo = (id: unknown) =>
    received.filter((message) => message.id === id && message.method === undefined)
  for (const { line, seen } of steps) {
    await waitUntil(() => received.length >= seen)
    const filled = line.replace(/«state (\d+)»/g, (_, id: string) =>
      String(answerTo(Number(id))[0]?.result?.requestState),
    )
    input.write(`${filled}\n`)
  }
  const messages = steps.map(({ line }) => JSON.parse(line))
  const requests = messages.filter(isRequest)
  const cancelledIds = new Set(messages.map(({ params }) => params?.requestId))
  const isAnswered = ({ id, method }: SentMessage) =>
    answerTo(id).length > 0 || cancelledIds.has(id) || method === 'subscriptions/listen'
  await waitUntil(() => requests.every(isAnswered))
  input.end()
  const others = received.filter(({ method }) => method !== undefined)
  return [...requests.map(({ id }) => ({ messages: answerTo(id) })), { messages: others }]
}

interface SentMessage {
  readonly id: unknown
  readonly method: string
}

export const isRequest = (message: object): message is SentMessage =>
  'id' in message && 'method' in message
