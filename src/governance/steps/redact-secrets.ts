import { type Listener, silentListener } from '../../capability/listener.ts'
import type { Redactor } from '../redactor.ts'
import type { Interceptor } from './interceptor.ts'
import type { Step } from './step.ts'

/** Redacts every known secret from outcomes, progress and log entries. */
export const redactSecrets = (redactor: Redactor): Interceptor => ({
  enter: (call) =>
    call.listener === silentListener
      ? call
      : { ...call, listener: toRedactingListener(call.listener, redactor) },
  leave: (_call, outcome) => redactor.value(outcome),
})

/** The same for an outcome that is stored. A step, because `beginEffect` has to see what is thrown below. */
export const redactStored =
  (redactor: Redactor): Step =>
  async (call, next) =>
    redactor.value(await next(call))

const toRedactingListener = (listener: Listener, redactor: Redactor): Listener => ({
  progress: (update) => listener.progress(redactor.value(update)),
  log: (entry) => listener.log(redactor.value(entry)),
})
