import type { Call } from '../capability/call.ts'
import type { Outcome } from '../capability/outcome.ts'
import { applyVerdict, type Check, type CheckMode } from './steps/check.ts'
import type { Interceptor } from './steps/interceptor.ts'
import type { Next, Step } from './steps/step.ts'
import { toFailure } from './to-failure.ts'

/** A step in the simplest form that does its work: a general one costs a promise, the others share theirs. */
export type ChainStep = Check | Interceptor | Step

export const isCheck = (step: ChainStep): step is Check => 'decide' in step

const isInterceptor = (step: ChainStep): step is Interceptor => 'leave' in step

/** Links the steps once, from the last to the first: no lookup or allocation of links per call. */
export function compileChain(steps: readonly ChainStep[], observeOnly: boolean): Next {
  const unlinked = [...steps]
  // A source in plain JavaScript may return an outcome without a promise.
  let next: Next = (call) => Promise.resolve(call.capability.invoke(call))
  for (let step = unlinked.pop(); step; step = unlinked.pop())
    if (isCheck(step)) next = linkChecks([...popAll(unlinked, isCheck), step], observeOnly, next)
    else if (isInterceptor(step))
      next = linkInterceptors([...popAll(unlinked, isInterceptor), step], next)
    else next = linkStep(step, next)
  return next
}

/** Removes the steps of one kind from the end of the list, and returns them in their order. */
function popAll<Kind extends ChainStep>(
  steps: ChainStep[],
  isKind: (step: ChainStep) => step is Kind,
): Kind[] {
  const last = steps.at(-1)
  if (!last || !isKind(last)) return []
  steps.pop()
  return [...popAll(steps, isKind), last]
}

const linkStep =
  (step: Step, next: Next): Next =>
  (call) =>
    step(call, next)

/** One loop, without promises: most checks decide synchronously, and a promise would cost more than they do. */
function linkChecks(checks: readonly Check[], observeOnly: boolean, next: Next): Next {
  const modes = checks.map(
    (check): CheckMode =>
      observeOnly && check.enforcedWhenObserving !== true ? 'observe' : 'enforce',
  )
  const decideFrom = (first: number, call: Call): Promise<Outcome> => {
    let current = call
    for (let index = first; index < checks.length; index++) {
      const check = checks[index] as Check
      const mode = modes[index] as CheckMode
      const decided = current
      const verdict = check.decide(decided, mode)
      if (verdict instanceof Promise)
        return verdict.then((settled) => {
          const result = applyVerdict(check, mode, decided, settled)
          return isOutcome(result) ? result : decideFrom(index + 1, result)
        })
      const result = applyVerdict(check, mode, decided, verdict)
      if (isOutcome(result)) return Promise.resolve(result)
      current = result
    }
    return next(current)
  }
  return (call) => decideFrom(0, call)
}

function linkInterceptors(interceptors: readonly Interceptor[], next: Next): Next {
  const leave = (call: Call, entered: number, ended: Outcome): Outcome => {
    let outcome = ended
    for (let index = entered - 1; index >= 0; index--)
      try {
        outcome = (interceptors[index] as Interceptor).leave(call, outcome)
      } catch (thrown) {
        outcome = toFailure(call, thrown)
      }
    return outcome
  }
  return (call) => {
    let current = call
    let entered = 0
    try {
      for (const interceptor of interceptors) {
        const result = interceptor.enter ? interceptor.enter(current) : current
        if (isOutcome(result)) return Promise.resolve(leave(call, entered, result))
        current = result
        entered++
      }
      return next(current).then(
        (outcome) => leave(call, entered, outcome),
        (thrown) => leave(call, entered, toFailure(call, thrown)),
      )
    } catch (thrown) {
      return Promise.resolve(leave(call, entered, toFailure(call, thrown)))
    }
  }
}

const isOutcome = (result: Call | Outcome): result is Outcome => 'kind' in result
