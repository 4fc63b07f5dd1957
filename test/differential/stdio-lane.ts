import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { isJSONRPCRequest } from '@modelcontextprotocol/server'
import { until } from '../support/eventually.ts'
import { anInitialize, initialized } from '../support/legacy-request.ts'
import { aModernRequest } from '../support/modern-request.ts'
import type { ComparedServer, Pipes } from './both-servers.ts'
import type { Reply, ReplyMessage } from './reply.ts'

export type Era = 'modern' | 'legacy'

/** One client of a server over a pair of streams. */
export class StdioLane {
  readonly #pipes: Pipes
  #received: ReplyMessage[] = []
  #text = ''
  #marks = 0

  private constructor(pipes: Pipes) {
    this.#pipes = pipes
    pipes.output.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#text + chunk).split('\n')
      this.#text = lines.pop() ?? ''
      for (const line of lines) this.#received.push(JSON.parse(line))
    })
  }

  static async connect(server: ComparedServer): Promise<StdioLane> {
    return new StdioLane(await server.connect())
  }

  /** Connects a client whose first messages have decided the era. */
  static async open(server: ComparedServer, era: Era): Promise<StdioLane> {
    const lane = await StdioLane.connect(server)
    if (era === 'legacy') {
      lane.write(`${JSON.stringify(anInitialize())}\n${JSON.stringify(initialized)}\n`)
    }
    await lane.mark(era)
    lane.take()
    return lane
  }

  write(bytes: string | Uint8Array): void {
    this.#pipes.input.write(bytes)
  }

  /** Makes a call and waits for its answer, after which earlier messages are answered too. */
  async mark(era: Era): Promise<void> {
    const id = `mark ${this.#marks++}`
    const params = { name: 'add', arguments: { a: 1 } }
    const call =
      era === 'modern'
        ? aModernRequest('tools/call', params, id)
        : { jsonrpc: '2.0', id, method: 'tools/call', params }
    this.write(`${JSON.stringify(call)}\n`)
    await until(() => this.#received.some((message) => message.id === id))
    this.#received = this.#received.filter((message) => message.id !== id)
    await setImmediate()
  }

  /** Waits for a number of messages. */
  async receive(count: number): Promise<void> {
    await until(() => this.#received.length >= count)
  }

  get received(): readonly ReplyMessage[] {
    return this.#received
  }

  /** What has arrived since the last time. */
  take(): Reply {
    const messages = this.#received
    this.#received = []
    return { messages }
  }

  close(): void {
    this.#pipes.input.end()
  }
}

/** Waits until both have received the same number of messages, and an answer if the line is a request. */
export async function settle(ours: StdioLane, sdk: StdioLane, line: string): Promise<void> {
  const least = isRequest(line) ? 1 : 0
  const isSettled = () =>
    ours.received.length === sdk.received.length && ours.received.length >= least
  for (let round = 0; round < 100 && !isSettled(); round++) await sleep(3)
}

function isRequest(line: string): boolean {
  try {
    return isJSONRPCRequest(JSON.parse(line))
  } catch {
    return false
  }
}
