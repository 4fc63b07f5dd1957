import type { InputRequests, Result } from '@modelcontextprotocol/server'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { Method } from '../engine.ts'
import { codes, RpcError } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import type { LegacyExchange } from './legacy-session.ts'

const maxRounds = 8

/**
 * 2025 has no questions in results. The server sends them as requests while the call waits, and
 * repeats the call with the answers until it asks nothing more.
 */
export const askingClient =
  (method: Method): Method<LegacyExchange> =>
  (surface, params, exchange) => {
    const result = method(surface, params, exchange)
    return result instanceof Promise
      ? result.then((first) =>
          needsInput(first) ? repeatWithAnswers(method, surface, params, exchange, first) : first,
        )
      : result
  }

type Asking = Result & { readonly inputRequests?: InputRequests; readonly requestState?: string }

const needsInput = (result: Result): result is Asking => result.resultType === 'input_required'

async function repeatWithAnswers(
  method: Method,
  surface: Surface,
  params: Parameters<Method>[1],
  exchange: LegacyExchange,
  first: Asking,
): Promise<Result> {
  let result: Result = first
  for (let round = 0; needsInput(result); round++) {
    if (round === maxRounds)
      throw new RpcError(
        codes.invalidParams,
        `The call still needs input after ${maxRounds} rounds of questions`,
      )
    const { inputRequests = {}, requestState }: Asking = result
    const inputResponses = await sendQuestions(surface, exchange, inputRequests)
    result = await method(surface, params, { ...exchange, inputResponses, requestState })
  }
  return result
}

async function sendQuestions(
  { newId }: Surface,
  { session, outlet, cancellation }: LegacyExchange,
  requests: InputRequests,
): Promise<Record<string, unknown>> {
  const responses = Object.entries(requests).map(async ([key, { method, params }]) => {
    const question = dropUndefined({ method, params: params && withId(params, newId) })
    // No answer counts as a cancelled question; the capability decides how to go on.
    const answer = (await session.questions.ask(question, outlet, cancellation)) ?? {
      action: 'cancel',
    }
    return [key, answer]
  })
  return Object.fromEntries(await Promise.all(responses))
}

/** 2025 requires an elicitation id for URLs. */
const withId = (params: object, newId: () => string): object =>
  'mode' in params && params.mode === 'url' ? { ...params, elicitationId: newId() } : params
