import type { ExecutionEvent, LoggedExecution } from '../../runtime/execution-history.ts'

type Of<Kind extends ExecutionEvent['event']> = Extract<ExecutionEvent, { event: Kind }>

/** An execution put together from its events. */
export function toParts({ events, ...summary }: LoggedExecution) {
  const begun = only(events, 'begun')[0]
  const decision = [...only(events, 'resumed')].at(-1)?.decision ?? begun?.decision
  const answers = only(events, 'answered')
  const late = only(events, 'late')
  const ended = only(events, 'ended').at(-1)
  const attempts = only(events, 'asked').map(({ number, agent, at }) => {
    const answer = answers.find((one) => one.number === number)
    const after = late.find((one) => one.number === number)
    return {
      number,
      agent,
      at,
      outcome: answer ? (answer.error?.code ?? 'ok') : 'no answer',
      ...(answer?.error && { message: answer.error.message, certainty: answer.certainty }),
      ...(answer && { duration: answer.duration }),
      ...(answer?.instance !== undefined && { instance: answer.instance }),
      ...(after && { late: after.outcome }),
    }
  })
  return {
    ...summary,
    ...(begun && { address: begun.address, effects: begun.effects, envelope: begun.envelope }),
    ...(decision && { decision }),
    attempts,
    ...(ended && { response: ended.response }),
    /** What is the same when the same thing happens again. */
    result: {
      state: summary.state,
      tried: attempts.map(({ agent, outcome }) => ({ agent, outcome })),
      agent: ended?.response.metadata.agent,
      payload: ended?.response.payload,
      error: ended?.response.error,
    },
  }
}

/** The same for people: what was asked, who could have, who was, and what came of it. */
export function toAccount(execution: LoggedExecution): string[] {
  const { id, state, intent, version, caller, started } = execution
  const { decision, envelope, attempts, response } = toParts(execution)
  return [
    `${id} ${state}: ${intent} ${version} for ${caller} at ${new Date(started).toISOString()}`,
    ...(envelope
      ? [`trace ${envelope.metadata.traceId}, ${envelope.metadata.identityChain.join(' → ')}`]
      : []),
    ...(envelope ? [`asked ${JSON.stringify(envelope.payload)}`] : []),
    ...(decision
      ? [
          `${decision.strategy}, order of the ${decision.order}: ${decision.plan.join(', ') || 'nobody'}`,
          ...decision.candidates.map(({ agent, skipped }) => {
            const tried = attempts.filter((one) => one.agent === agent)
            const words = tried.map(toWords).join('; ')
            return `  ${agent.padEnd(20)} ${words || (skipped ? `not asked: ${skipped.replaceAll('_', ' ')}` : notReached(attempts.length))}`
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
      : ['no answer was written']),
  ]
}

const notReached = (attempts: number): string =>
  attempts === 0 ? 'not asked' : 'not asked: it was over before'

interface Attempt {
  readonly outcome: string
  readonly message?: string
  readonly certainty?: string | undefined
  readonly duration?: number
  readonly instance?: string
  readonly late?: string
}

function toWords({ outcome, message, certainty, duration, instance, late }: Attempt): string {
  const words = [
    `asked: ${outcome}`,
    ...(duration === undefined ? [] : [`after ${duration} ms`]),
    ...(instance === undefined ? [] : [`by its replica ${instance}`]),
    ...(message === undefined ? [] : [`(${message})`]),
    ...(certainty === 'unknown' ? ['and may have acted'] : []),
    ...(late === undefined ? [] : [`; it answered ${late} when nobody waited any more`]),
  ]
  return words.join(' ')
}

const only = <Kind extends ExecutionEvent['event']>(
  events: readonly ExecutionEvent[],
  kind: Kind,
): readonly Of<Kind>[] => events.filter((event): event is Of<Kind> => event.event === kind)
