import type { Json, JsonObject } from '../../../capability/json.ts'
import { type AgentResult, isAgentFailure } from '../envelope/agent-result.ts'
import type { ErrorCode } from '../envelope/error-codes.ts'
import type { AgentResponse } from '../envelope/response.ts'
import type {
  BegunEvent,
  ExecutionEvent,
  ExecutionLog,
  ResumedEvent,
  SealedPayload,
} from './execution-log.ts'

export interface JournalOptions {
  readonly id: string
  readonly log: ExecutionLog | undefined
  /** Attempts must be on disk before the agent is asked. */
  readonly synced: boolean
  readonly now: () => number
  /** Encrypts payloads before they are logged. */
  readonly encrypt: EncryptPayload | undefined
  /** Receives errors of background writes. */
  readonly onOperationalError: (error: unknown) => void
}

/** `associatedData` binds the ciphertext to its place in the log. */
export type EncryptPayload = (payload: Json, associatedData: string) => SealedPayload

export type Opening =
  | Omit<BegunEvent, 'id' | 'at' | 'event' | 'boot'>
  | (Omit<ResumedEvent, 'id' | 'at' | 'event'> & { readonly attempts: number })

/** Writes the events of one execution. The opening is written together with the first attempt. */
export class Journal {
  readonly #options: JournalOptions
  #buffer: ExecutionEvent[] = []
  #attempts = 0

  constructor(options: JournalOptions) {
    this.#options = options
  }

  open(opening: Opening): void {
    const stamp = this.#stamp()
    if ('by' in opening) {
      const { attempts, ...rest } = opening
      this.#attempts = attempts
      this.#buffer.push({ event: 'resumed', ...stamp, ...rest })
      return
    }
    const { envelope } = opening
    const payload = this.#encrypt(envelope.payload as JsonObject, 'request')
    this.#buffer.push({
      event: 'begun',
      ...stamp,
      ...opening,
      envelope: payload === envelope.payload ? envelope : { ...envelope, payload },
    })
  }

  /** Call before asking an agent. Rejects when a `synced` write fails: then do not ask. */
  async ask(agent: string): Promise<number> {
    const number = ++this.#attempts
    this.#buffer.push({ event: 'asked', ...this.#stamp(), number, agent })
    if (this.#options.synced) await this.#write('synced')
    else this.#writeInBackground()
    return number
  }

  answer(number: number, agent: string, durationMs: number, result: AgentResult): void {
    const { instance } = result
    const replica = instance === undefined ? noReplica : { instance }
    const { id, at } = this.#stamp()
    const duration = toMicrosecondPrecision(durationMs)
    if (!isAgentFailure(result)) {
      const payload = this.#encrypt(result.payload, `answer ${number}`)
      this.#buffer.push({ event: 'answered', id, at, number, agent, ...replica, duration, payload })
      return
    }
    const { error, certainty, cause } = result
    this.#buffer.push({
      event: 'answered',
      id,
      at,
      number,
      agent,
      ...replica,
      duration,
      error,
      certainty,
      ...(cause !== undefined && { cause: cause.slice(0, maxCauseLength) }),
    })
  }

  late(number: number, agent: string, outcome: 'ok' | ErrorCode): void {
    this.#buffer.push({ event: 'late', ...this.#stamp(), number, agent, outcome })
    this.#writeInBackground()
  }

  /** Resolves once the end is written, so that no client sees an answer the log lacks. */
  async end(
    state: 'done' | 'failed' | 'unknown',
    response: AgentResponse,
    durationMs: number,
  ): Promise<void> {
    const { payload } = response
    const loggedResponse =
      payload === null ? response : { ...response, payload: this.#encrypt(payload, 'response') }
    this.#buffer.push({
      event: 'ended',
      ...this.#stamp(),
      state,
      duration: toMicrosecondPrecision(durationMs),
      response: loggedResponse,
    })
    try {
      await this.#write('written')
    } catch (error) {
      // The effect has already happened: return the answer even without its log entry.
      this.#options.onOperationalError(error)
    }
  }

  #stamp() {
    const { id, now } = this.#options
    return { id, at: Math.round(now()) }
  }

  #encrypt(payload: JsonObject, part: string): JsonObject | SealedPayload {
    const { encrypt, id } = this.#options
    return encrypt ? encrypt(payload, `${id} ${part}`) : payload
  }

  async #write(durability: 'synced' | 'written'): Promise<void> {
    const events = this.#buffer
    this.#buffer = []
    await this.#options.log?.append(events, durability)
  }

  #writeInBackground(): void {
    const events = this.#buffer
    this.#buffer = []
    this.#options.log?.append(events, 'soon').catch(this.#options.onOperationalError)
  }
}

const maxCauseLength = 2000
const noReplica = {}

const toMicrosecondPrecision = (milliseconds: number): number =>
  Math.round(milliseconds * 1000) / 1000
