import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { Drawbridge, StdioConnection } from '../../src/runtime/drawbridge.ts'
import { until } from './eventually.ts'

/** An unvalidated JSON-RPC message. */
export interface PeerMessage {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

/** A client that exchanges lines with a Drawbridge in this process. */
export class StdioPeer {
  readonly connection: StdioConnection
  readonly input: PassThrough
  readonly output: PassThrough
  readonly messages: PeerMessage[] = []

  private constructor(connection: StdioConnection, input: PassThrough, output: PassThrough) {
    this.connection = connection
    this.input = input
    this.output = output
  }

  static async connect(
    bridge: Drawbridge,
    options: { readonly graceMs?: number } = {},
  ): Promise<StdioPeer> {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const peer = new StdioPeer(await bridge.stdio({ ...options, input, output }), input, output)
    onTestFinished(() => peer.connection.close())
    return peer
  }

  /** Begins to read what the server sends. */
  read(): this {
    let text = ''
    this.output.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) this.messages.push(JSON.parse(line))
    })
    return this
  }

  send(...messages: readonly object[]): void {
    this.input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  }

  /** The first message that matches, once it has arrived. */
  async receive(matches: (message: PeerMessage) => boolean): Promise<PeerMessage> {
    await until(() => this.messages.some(matches))
    return this.messages.find(matches) as PeerMessage
  }

  /** The answer to a request. */
  answerTo(id: unknown): Promise<PeerMessage> {
    return this.receive((message) => message.id === id && message.method === undefined)
  }
}
