import type { Fault } from '../../../capability/fault.ts'
import { type AgentResult, toReportedFailure } from '../envelope/agent-result.ts'
import { mayRepeat } from '../to-effects.ts'
import {
  type AnsweredEvent,
  type BegunEvent,
  type ExecutionEvent,
  isSealed,
  type LoggedExecution,
} from './execution-log.ts'

/** How an interrupted execution can be resumed. */
export type Resumption =
  /** The answer is in the log, only the end is missing: no agent is asked. */
  | {
      readonly kind: 'complete'
      readonly begun: BegunEvent
      readonly agent: string
      readonly result: AgentResult
    }
  /** Repeating is harmless, or no attempt can have taken effect: it is routed again. */
  | { readonly kind: 'continue'; readonly begun: BegunEvent; readonly attempts: number }

/** Decides from the logged events alone; the fault says why the execution cannot be resumed. */
export function toResumption({ id, state, events }: LoggedExecution): Resumption | Fault {
  if (state !== 'interrupted')
    return { fault: `Execution ${id} is ${state}: there is nothing to resume.` }
  const begun = events.find((event) => event.event === 'begun')
  if (!begun) return { fault: `The log does not contain the beginning of execution ${id}.` }
  if (isSealed(begun.envelope.payload))
    return {
      fault: `The payload of execution ${id} is encrypted with a key that is not configured.`,
    }
  const askedEvents = ofKind(events, 'asked')
  const answeredEvents = ofKind(events, 'answered')
  const success = answeredEvents.find(({ payload }) => payload !== undefined)
  const { strategy } = begun.decision
  if (success && (strategy === 'direct' || strategy === 'fallback')) return complete(begun, success)
  const attempts = askedEvents.length
  if (mayRepeat(begun.effects)) return { kind: 'continue', begun, attempts }
  const unansweredAttempt = askedEvents.find(
    ({ number }) => !answeredEvents.some((answer) => answer.number === number),
  )
  if (unansweredAttempt)
    return {
      fault: `${unansweredAttempt.agent} was asked and its answer is not in the log, so it may have acted. Execution ${id} must not happen twice and is not repeated: find out whether it took effect, then run "drawbridge runs settle ${id}".`,
    }
  const last = answeredEvents.at(-1)
  if (last?.certainty === 'unknown')
    return { fault: `${last.agent} may have acted, and execution ${id} must not happen twice.` }
  if (last?.certainty === 'told') return complete(begun, last)
  return { kind: 'continue', begun, attempts }
}

function complete(
  begun: BegunEvent,
  { agent, payload, error, certainty }: AnsweredEvent,
): Resumption | Fault {
  if (error)
    return {
      kind: 'complete',
      begun,
      agent,
      result: toReportedFailure(agent, error, { certainty }),
    }
  if (payload === undefined || isSealed(payload))
    return { fault: 'The logged answer is encrypted with a key that is not configured.' }
  return { kind: 'complete', begun, agent, result: { payload } }
}

const ofKind = <Kind extends ExecutionEvent['event']>(
  events: readonly ExecutionEvent[],
  kind: Kind,
): readonly Extract<ExecutionEvent, { event: Kind }>[] =>
  events.filter((event): event is Extract<ExecutionEvent, { event: Kind }> => event.event === kind)
