import type { Readable, Writable } from 'node:stream'
import { type Caller, localUser } from '../../capability/caller.ts'
import { parseJson } from '../../json/parse-json.ts'
import { failRequest, type Outlet } from '../engine.ts'
import type { Body } from '../http-port.ts'
import { LegacySession } from '../legacy/legacy-session.ts'
import { type Message, type RequestId, readPlain } from '../message.ts'
import {
  checkRevision,
  claimsModern,
  type Envelope,
  readPlainEnvelope,
  toEnvelope,
  unsupportedVersion,
} from '../modern/envelope.ts'
import { codes, invalidParams, RpcError } from '../rpc-error.ts'
import { duplicateId } from '../running-requests.ts'
import type { Surface } from '../surface.ts'
import { protocolMeta } from '../wire-names.ts'
import { LineReader } from './line-reader.ts'
import { LineWriter, maxUnreadBytes } from './line-writer.ts'
import { ModernPeer } from './modern-peer.ts'

export interface StdioConnectionOptions {
  readonly input: Readable
  readonly output: Writable
  readonly caller?: Caller
  /** The reason to refuse a message before it is handled, if there is one. */
  readonly refuse?: (message: unknown) => MessageRefusal | undefined
  /** Milliseconds that running requests get to be answered after the end of the input. Default: 1000. */
  readonly graceMs?: number
  /** Receives transport errors and unreadable lines, for the log. */
  readonly onError: (error: Error) => void
}

export interface MessageRefusal {
  readonly code: string
  readonly message: string
}

/** A client that is served over a pair of streams. */
export interface StdioConnection {
  /** Resolves when the connection ends, with the error that ended it, if any. */
  readonly closed: Promise<Error | undefined>
  /** Ends the connection. */
  close(): Promise<void>
}

const defaultGraceMs = 1000

/** Serves one client on a pair of streams, in the era of its first message. */
export const connectStdio = (surface: Surface, options: StdioConnectionOptions): StdioConnection =>
  new StdioPeer(surface, options)

class StdioPeer implements StdioConnection {
  readonly closed: Promise<Error | undefined>
  readonly #options: StdioConnectionOptions
  readonly #caller: Caller
  readonly #reader: LineReader
  readonly #writer: LineWriter
  readonly #outlet: Outlet
  readonly #modern: ModernPeer
  readonly #legacy: LegacySession
  /** Messages that wait until an earlier one is judged. */
  readonly #waiting: unknown[] = []
  #isJudging = false
  /** Decided by the first message other than `server/discover`, which clients of both eras may send first. */
  #era: Era | undefined
  #settle: (reason: Error | undefined) => void = () => {}
  /** Runs after the end of the input. */
  #graceTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(surface: Surface, options: StdioConnectionOptions) {
    const { input, output, caller = localUser } = options
    this.#options = options
    this.#caller = caller
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#writer = new LineWriter(output, {
      onBlocked: (isBlocked) => (isBlocked ? this.#reader.pause() : this.#reader.resume()),
      onOverflow: () =>
        this.#closeWith(new Error(`The client has not read ${maxUnreadBytes} bytes of output`)),
    })
    this.#outlet = {
      send: (message) => this.#writer.notify(message),
      succeed: (body) => this.#answer(body),
      fail: (_, body) => this.#answer(body),
    }
    this.#modern = new ModernPeer(surface, caller, this.#outlet)
    this.#legacy = new LegacySession(surface, caller, (message) => {
      if (this.#era === 'legacy') this.#outlet.send(message)
    })
    output.on('error', (error) => {
      if (!this.#isClosed) options.onError(error)
      this.#close(undefined)
    })
    this.#reader = new LineReader(input, {
      onLine: (line) => this.#receiveLine(line),
      onTooLong: (maxBytes) =>
        this.#closeWith(new Error(`A line is longer than ${maxBytes} bytes`)),
      onEnd: () => this.#end(),
      onError: (error) => options.onError(error),
    })
  }

  async close(): Promise<void> {
    this.#close(undefined)
  }

  #answer(body: Body): void {
    this.#writer.write(body)
    this.#closeIfAnswered()
  }

  /** The client sends nothing more, but may still read: what is running is answered first. */
  #end(): void {
    const { graceMs = defaultGraceMs } = this.#options
    this.#graceTimer = setTimeout(() => this.#close(undefined), graceMs)
    this.#closeIfAnswered()
  }

  #closeIfAnswered(): void {
    if (!this.#graceTimer || this.#isJudging) return
    if (this.#modern.running.size + this.#legacy.running.size === 0) this.#close(undefined)
  }

  #closeWith(error: Error): void {
    if (this.#isClosed) return
    this.#options.onError(error)
    this.#close(error)
  }

  #close(reason: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#graceTimer)
    this.#reader.close()
    this.#modern.close()
    this.#legacy.close()
    this.#writer.close()
    this.#settle(reason)
  }

  #receiveLine(line: string): void {
    const body = parseJson(line)
    // Many programs end their lines with \r\n or send empty ones.
    if (body === undefined && line.trim() === '') return
    if (body === undefined) return this.#options.onError(new Error('A line is not valid JSON'))
    if (this.#isJudging) this.#waiting.push(body)
    else this.#receive(body)
  }

  #receive(body: unknown): void {
    const message = readPlain(body)
    if (!message) return void this.#judge(body)
    if (message.kind === 'response' || this.#era === 'legacy' || !claimsModern(message.params))
      return this.#handle(message, body, undefined)
    const envelope = readPlainEnvelope(message.params)
    if (envelope) this.#handle(message, body, envelope)
    else void this.#judge(body)
  }

  /** A message that is not plainly valid is judged by the SDK. Later ones wait: their order matters. */
  async #judge(body: unknown): Promise<void> {
    this.#isJudging = true
    const { judgeEra, judgeMessage } = await import('../judge.ts')
    if (this.#isClosed) return
    const message = readPlain(body) ?? judgeMessage(body)
    if (!message) this.#options.onError(new Error('A line is not a JSON-RPC message'))
    else {
      try {
        const claims = message.kind !== 'response' && this.#era !== 'legacy'
        const verdict = claims && judgeEra({ method: 'POST', headers: {}, body })
        const isModern = verdict && verdict.era === 'modern'
        if (isModern) checkRevision(verdict.revision)
        this.#handle(message, body, isModern ? toEnvelope(message.params) : undefined)
      } catch (error) {
        this.#fail(message, error)
      }
    }
    this.#isJudging = false
    while (!this.#isJudging && this.#waiting.length > 0) this.#receive(this.#waiting.shift())
    this.#closeIfAnswered()
  }

  /** `envelope`: the message is of 2026-07-28. */
  #handle(message: Message, body: unknown, envelope: Envelope | undefined): void {
    const refusal = this.#options.refuse?.(body)
    if (refusal) {
      const { code, message: text } = refusal
      return this.#fail(message, new RpcError(codes.refused, text, { data: { code } }))
    }
    if (message.kind === 'request' && this.#isRunning(message.id))
      return this.#fail(message, duplicateId(message.id))
    if (this.#chooseEra(message, envelope) === 'modern') this.#handleModern(message, envelope)
    else this.#legacy.receive(message, { caller: this.#caller }, this.#outlet)
  }

  #chooseEra(message: Message, envelope: Envelope | undefined): Era {
    if (this.#era) return this.#era
    const era = envelope ? 'modern' : 'legacy'
    const isProbe = message.kind === 'request' && message.method === 'server/discover'
    if (message.kind === 'request' && !isProbe) this.#era = era
    return era
  }

  #handleModern(message: Message, envelope: Envelope | undefined): void {
    if (message.kind === 'notification') return this.#modern.notify(message)
    if (message.kind === 'response') return
    if (envelope) return this.#modern.serve(message, envelope)
    const { method, params } = message
    const error =
      method === 'initialize'
        ? unsupportedVersion(String(params.protocolVersion))
        : invalidParams(`_meta must contain ${requiredMeta.join(' and ')}`)
    this.#fail(message, error)
  }

  #isRunning(id: RequestId): boolean {
    return this.#legacy.running.has(id) || this.#modern.has(id)
  }

  /** Only requests get an answer. */
  #fail(message: Message, error: unknown): void {
    if (message.kind === 'request') failRequest(message.id, error, this.#outlet)
  }
}

type Era = 'modern' | 'legacy'

const requiredMeta = [protocolMeta.protocolVersion, protocolMeta.clientCapabilities]
