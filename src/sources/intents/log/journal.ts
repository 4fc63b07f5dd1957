import type { Json, JsonObject } from '../../../capability/json.ts'
import type { AgentResponse, ErrorInfo } from '../envelope/response.ts'
import type { AttemptResult } from '../router/attempt.ts'
import type {
  BegunEvent,
  ExecutionEvent,
  ExecutionLog,
  ResumedEvent,
  Sealed,
} from './execution-log.ts'

export interface JournalOptions {
  readonly id: string
  readonly log: ExecutionLog | undefined
  /** Whether it must be on the disk before an agent is asked. */
  readonly synced: boolean
  readonly now: () => number
  /** Makes a payload unreadable to those without the key. */
  readonly protect: Protect | undefined
  /** Hears that something could not be written that nobody waits for. */
  readonly onTrouble: (error: unknown) => void
}

export type Protect = (payload: Json, about: string) => Sealed

export type Opening =
  | Omit<BegunEvent, 'id' | 'at' | 'event' | 'boot'>
  | (Omit<ResumedEvent, 'id' | 'at' | 'event'> & { readonly attempts: number })

/** What one execution writes down. The opening waits for the first question, to go with it. */
export class Journal {
  readonly #options: JournalOptions
  #waiting: ExecutionEvent[] = []
  #number = 0

  constructor(options: JournalOptions) {
    this.#options = options
  }

  open(opening: Opening): void {
    const about = this.#about()
    if ('by' in opening) {
      const { attempts, ...rest } = opening
      this.#number = attempts
      this.#waiting.push({ event: 'resumed', ...about, ...rest })
      return
    }
    const { envelope } = opening
    const payload = this.#protect(envelope.payload as JsonObject, 'request')
    this.#waiting.push({
      event: 'begun',
      ...about,
      ...opening,
      envelope: payload === envelope.payload ? envelope : { ...envelope, payload },
    })
  }

  /** Before an agent is asked. Rejects where that may not be done without a record. */
  async ask(agent: string): Promise<number> {
    const number = ++this.#number
    this.#waiting.push({ event: 'asked', ...this.#about(), number, agent })
    if (this.#options.synced) await this.#write('synced')
    else this.#writeAside()
    return number
  }

  answer(number: number, agent: string, duration: number, ending: AttemptResult): void {
    const { instance } = ending
    const from = instance === undefined ? nothing : { instance }
    const { id, at } = this.#about()
    if ('payload' in ending) {
      const payload = this.#protect(ending.payload, `answer ${number}`)
      this.#waiting.push({ event: 'answered', id, at, number, agent, ...from, duration, payload })
      return
    }
    const { error, certainty, cause } = ending
    this.#waiting.push({
      event: 'answered',
      id,
      at,
      number,
      agent,
      ...from,
      duration,
      error,
      certainty,
      ...(cause !== undefined && { cause: cause.slice(0, longestCause) }),
    })
  }

  late(number: number, agent: string, outcome: 'ok' | ErrorInfo['code']): void {
    this.#waiting.push({ event: 'late', ...this.#about(), number, agent, outcome })
    this.#writeAside()
  }

  /** Settles when it is written: nobody hears of an answer that the log does not know. */
  async end(
    state: 'done' | 'failed' | 'unknown',
    response: AgentResponse,
    duration: number,
  ): Promise<void> {
    const { payload } = response
    const logged =
      payload === null ? response : { ...response, payload: this.#protect(payload, 'response') }
    this.#waiting.push({
      event: 'ended',
      ...this.#about(),
      state,
      duration,
      response: logged,
    })
    try {
      await this.#write('written')
    } catch (error) {
      // It has happened: the answer is worth more than its record.
      this.#options.onTrouble(error)
    }
  }

  #about() {
    const { id, now } = this.#options
    return { id, at: Math.round(now()) }
  }

  #protect(payload: JsonObject, part: string): JsonObject | Sealed {
    const { protect, id } = this.#options
    return protect ? protect(payload, `${id} ${part}`) : payload
  }

  async #write(how: 'synced' | 'written'): Promise<void> {
    const events = this.#waiting
    this.#waiting = []
    await this.#options.log?.append(events, how)
  }

  #writeAside(): void {
    const events = this.#waiting
    this.#waiting = []
    this.#options.log?.append(events, 'soon').catch(this.#options.onTrouble)
  }
}

const longestCause = 2000
const nothing = {}
