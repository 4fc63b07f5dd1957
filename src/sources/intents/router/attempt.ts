import type { Cancellation } from '../../../capability/cancellation.ts'
import type { Contract, Parsed } from '../../../capability/contract.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { AgentAnswer, AgentContext } from '../agents/agent.ts'
import type { Candidate } from '../agents/registry.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { type Certainty, errorCodes } from '../envelope/error-codes.ts'
import { type AgentResult, type ErrorInfo, toErrorInfo } from '../envelope/response.ts'
import { toTraceparent } from '../envelope/trace.ts'

/** How one attempt ended. */
export type AttemptResult =
  | { readonly payload: JsonObject; readonly instance?: string }
  | {
      readonly error: ErrorInfo
      readonly instance?: string
      readonly certainty: Certainty
      /** Whether another agent may do better, where the code does not say. */
      readonly elsewhere?: boolean
      readonly cause?: string
    }

export interface AttemptOptions {
  readonly candidate: Candidate
  readonly envelope: IntentEnvelope
  readonly number: number
  /** Milliseconds for this attempt. */
  readonly limit: number
  readonly deadline: number
  /** Stops this attempt alone. */
  readonly stop: Cancellation
  /** Hears of an answer that comes after the end. */
  readonly onLate: (outcome: 'ok' | ErrorInfo['code']) => void
}

/** Asks one agent once. Ends exactly once, by the limit, whatever the agent does. */
export function attempt(options: AttemptOptions): Promise<AttemptResult> {
  const { candidate, limit, stop, onLate } = options
  const { name } = candidate.agent
  return new Promise((resolve) => {
    const asking = new Asking(options)
    let over = false
    const end = (ending: AttemptResult) => {
      if (over) return
      over = true
      clearTimeout(timer)
      resolve(ending)
    }
    const timer = setTimeout(() => {
      const message = `${name} gave no answer within ${Math.round(limit)} ms.`
      end(asking.toEnding(toErrorInfo('AGENT_TIMEOUT', message)))
      stop.cancel(message)
    }, limit)
    stop.onCancel((reason) =>
      end(asking.toEnding(toErrorInfo('WORKFLOW_ABORTED', `${name} was stopped: ${reason}`))),
    )
    if (over) return
    asking.ask().then(
      (ending) => (over ? onLate('error' in ending ? ending.error.code : 'ok') : end(ending)),
      (error) => end(asking.toEnding(toErrorInfo('INTERNAL_AGENT_ERROR', outOfOrder(name)), error)),
    )
  })
}

const outOfOrder = (name: string): string => `Something went wrong while ${name} was asked.`

class Asking {
  readonly #options: AttemptOptions
  #begun = false

  constructor(options: AttemptOptions) {
    this.#options = options
  }

  async ask(): Promise<AttemptResult> {
    const { candidate, envelope } = this.#options
    const { agent, offer } = candidate
    const input = await parse(offer.input, envelope.payload)
    if (!input.ok) {
      const message = `The payload does not fit what ${agent.name} takes: ${toWords(input)}`
      // This one was not even asked.
      const error = toErrorInfo('VALIDATION_ERROR', message)
      return { error, certainty: 'nothing', elsewhere: true }
    }
    const given =
      input.value === envelope.payload
        ? envelope
        : Object.freeze({ ...envelope, payload: input.value as JsonObject })
    this.#begun = true
    const answer = await agent.invoke(given, new Context(this.#options))
    if ('error' in answer) return toFailed(answer)
    const { instance } = answer
    const from = instance === undefined ? {} : { instance }
    const output = await parse(offer.output, answer.payload)
    if (output.ok) return { payload: answer.payload, ...from }
    const message = `${agent.name} answered with something it did not promise.`
    return {
      error: toErrorInfo('PROTOCOL_ERROR', message),
      certainty: 'unknown',
      cause: toWords(output),
      ...from,
    }
  }

  /** Ended from outside: whether it did anything depends on whether it had begun. */
  toEnding(error: ErrorInfo, thrown?: unknown): AttemptResult {
    const certainty = this.#begun ? 'unknown' : 'nothing'
    return { error, certainty, ...(thrown !== undefined && { cause: String(thrown) }) }
  }
}

type Failing = AgentAnswer & Extract<AgentResult, { error: unknown }>

const toFailed = ({ error, certainty, cause, instance }: Failing) => ({
  error,
  certainty: certainty ?? errorCodes[error.code].certainty,
  ...(instance !== undefined && { instance }),
  ...(cause !== undefined && { cause }),
})

/** Not waited for where there is nothing to wait for. */
const parse = (contract: Contract | undefined, value: unknown): Parsed | Promise<Parsed> =>
  contract ? contract.parse(value) : { ok: true, value }

const toWords = (parsed: Parsed): string =>
  parsed.ok
    ? ''
    : parsed.issues.map(({ pointer, message }) => `${pointer || '/'} ${message}`).join('; ')

/** Made when it is looked at: most agents look at none of it. */
class Context implements AgentContext {
  readonly #options: AttemptOptions

  constructor(options: AttemptOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#options.stop.signal
  }

  get deadline(): number {
    return this.#options.deadline
  }

  get traceparent(): string {
    const { envelope, candidate, number } = this.#options
    return toTraceparent(envelope.metadata.traceId, `${candidate.agent.name} ${number}`)
  }
}
