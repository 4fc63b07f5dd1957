import { dropUndefined } from '../../json/drop-undefined.ts'
import type { ExecutionEvent, LoggedExecution } from '../../runtime/intents/execution-history.ts'

type EventOf<Kind extends ExecutionEvent['event']> = Extract<ExecutionEvent, { event: Kind }>

/** Reconstructs an execution from its events. The keys are those of `--json`. */
export function toDetails({ events, ...summary }: LoggedExecution) {
  const begun = eventsOf(events, 'begun')[0]
  const decision = eventsOf(events, 'resumed').at(-1)?.decision ?? begun?.decision
  const answers = eventsOf(events, 'answered')
  const lateAnswers = eventsOf(events, 'late')
  const ended = eventsOf(events, 'ended').at(-1)
  const attempts = eventsOf(events, 'asked').map(({ number, agent, at }) => {
    const answer = answers.find((one) => one.number === number)
    const late = lateAnswers.find((one) => one.number === number)
    return {
      number,
      agent,
      at,
      outcome: answer ? (answer.error?.code ?? 'ok') : 'no answer',
      ...(answer?.error && { message: answer.error.message, certainty: answer.certainty }),
      ...dropUndefined({
        cause: answer?.cause,
        duration: answer?.duration,
        instance: answer?.instance,
        late: late?.outcome,
      }),
    }
  })
  return {
    ...summary,
    ...(begun && { address: begun.address, effects: begun.effects, envelope: begun.envelope }),
    ...dropUndefined({ decision }),
    attempts,
    ...(ended && { response: ended.response }),
    /** The parts to compare between two executions: no ids, no times. */
    result: {
      state: summary.state,
      tried: attempts.map(({ agent, outcome }) => ({ agent, outcome })),
      agent: ended?.response.metadata.agent,
      payload: ended?.response.payload,
      error: ended?.response.error,
    },
  }
}

/** The request, the candidates, the attempts and the response, as lines of text. */
export function toReport(execution: LoggedExecution): string[] {
  const { id, state, intent, version, caller, started } = execution
  const { decision, envelope, attempts, response } = toDetails(execution)
  return [
    `${id} ${state}: ${intent} ${version} for ${caller} at ${new Date(started).toISOString()}`,
    ...(envelope
      ? [`trace ${envelope.metadata.traceId}, ${envelope.metadata.identityChain.join(' → ')}`]
      : []),
    ...(envelope ? [`asked ${JSON.stringify(envelope.payload)}`] : []),
    ...(decision
      ? [
          `${decision.strategy}, order of the ${decision.order}: ${decision.plan.join(', ') || 'no agent'}`,
          ...decision.candidates.map(({ agent, skipped }) => {
            const own = attempts.filter((one) => one.agent === agent)
            const account = own.map(toAttemptText).join('; ')
            return `  ${agent.padEnd(20)} ${account || (skipped ? `not asked: ${skipped.replaceAll('_', ' ')}` : toNotReached(attempts.length))}`
          }),
          ...(decision.refusal ? [`refused: ${decision.refusal.message}`] : []),
          `registry ${decision.registry}, policy ${decision.policy}, health ${JSON.stringify(decision.health)}`,
        ]
      : []),
    ...(response
      ? [
          response.error
            ? `answered ${response.error.code}: ${response.error.message}`
            : `answered by ${response.metadata.agent}: ${JSON.stringify(response.payload)}`,
        ]
      : ['no response was recorded']),
  ]
}

const toNotReached = (attempts: number): string =>
  attempts === 0 ? 'not asked' : 'not asked: the execution had already ended'

interface Attempt {
  readonly outcome: string
  readonly message?: string
  readonly certainty?: string | undefined
  readonly cause?: string
  readonly duration?: number
  readonly instance?: string
  readonly late?: string
}

function toAttemptText(attempt: Attempt): string {
  const { outcome, message, certainty, cause, duration, instance, late } = attempt
  const words = [
    `asked: ${outcome}`,
    ...(duration === undefined ? [] : [`after ${duration} ms`]),
    ...(instance === undefined ? [] : [`by its replica ${instance}`]),
    ...(message === undefined ? [] : [`(${message})`]),
    ...(certainty === 'unknown' ? ['and may have acted'] : []),
    ...(cause === undefined ? [] : [`; cause: ${cause}`]),
    ...(late === undefined ? [] : [`; it answered ${late} after the attempt had ended`]),
  ]
  return words.join(' ')
}

const eventsOf = <Kind extends ExecutionEvent['event']>(
  events: readonly ExecutionEvent[],
  kind: Kind,
): readonly EventOf<Kind>[] =>
  events.filter((event): event is EventOf<Kind> => event.event === kind)
