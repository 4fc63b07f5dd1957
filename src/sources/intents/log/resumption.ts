import type { JsonObject } from '../../../capability/json.ts'
import type { ErrorInfo } from '../envelope/response.ts'
import { mayRepeat } from '../to-effects.ts'
import {
  type AnsweredEvent,
  type BegunEvent,
  type ExecutionEvent,
  isSealed,
  type LoggedExecution,
} from './execution-log.ts'

/** What can be done with an execution that nobody runs any more. */
export type Resumption =
  /** It was answered, and only that was not written: nobody is asked. */
  | {
      readonly kind: 'complete'
      readonly begun: BegunEvent
      readonly agent: string
      readonly said: { readonly payload: JsonObject } | { readonly error: ErrorInfo }
    }
  /** Nothing that must not happen twice can have happened: it is routed again. */
  | { readonly kind: 'continue'; readonly begun: BegunEvent; readonly attempts: number }
  | { readonly kind: 'refused'; readonly why: string }

/** Decided from what is written and from nothing else. */
export function toResumption({ id, state, events }: LoggedExecution): Resumption {
  if (state !== 'interrupted') return refuse(`${id} is ${state}: there is nothing to resume.`)
  const begun = events.find((event) => event.event === 'begun')
  if (!begun) return refuse(`The beginning of ${id} is not in the log.`)
  if (isSealed(begun.envelope.payload))
    return refuse(`The payload of ${id} is sealed with a key that is not here.`)
  const asked = ofKind(events, 'asked')
  const answered = ofKind(events, 'answered')
  const answer = answered.find(({ payload }) => payload !== undefined)
  const { strategy } = begun.decision
  if (answer && (strategy === 'direct' || strategy === 'fallback')) return complete(begun, answer)
  const attempts = asked.length
  if (mayRepeat(begun.effects)) return { kind: 'continue', begun, attempts }
  const open = asked.find(({ number }) => !answered.some((one) => one.number === number))
  if (open)
    return refuse(
      `${open.agent} was asked, and what it did is not known. ${id} must not happen twice, so it is not asked again: find out, and settle it with "drawbridge runs settle ${id}".`,
    )
  const last = answered.at(-1)
  if (last?.certainty === 'unknown')
    return refuse(`${last.agent} may have acted, and ${id} must not happen twice.`)
  if (last?.certainty === 'told') return complete(begun, last)
  return { kind: 'continue', begun, attempts }
}

function complete(begun: BegunEvent, { agent, payload, error }: AnsweredEvent): Resumption {
  if (error) return { kind: 'complete', begun, agent, said: { error } }
  if (payload === undefined || isSealed(payload))
    return refuse('Its answer is sealed with a key that is not here.')
  return { kind: 'complete', begun, agent, said: { payload } }
}

const refuse = (why: string): Resumption => ({ kind: 'refused', why })

const ofKind = <Kind extends ExecutionEvent['event']>(
  events: readonly ExecutionEvent[],
  kind: Kind,
): readonly Extract<ExecutionEvent, { event: Kind }>[] =>
  events.filter((event): event is Extract<ExecutionEvent, { event: Kind }> => event.event === kind)
