import { type Listener, silentListener } from '../../capability/listener.ts'
import type { Redactor } from '../redactor.ts'
import type { Interceptor } from './interceptor.ts'

/** Redacts every known secret from outcomes, progress and log entries. */
export const redactSecrets = (redactor: Redactor): Interceptor => ({
  enter: (call) =>
    call.listener === silentListener
      ? call
      : { ...call, listener: toRedactingListener(call.listener, redactor) },
  ...redactOutcome(redactor),
})

export const redactOutcome = (redactor: Redactor): Interceptor => ({
  leave: (_call, outcome) => redactor.value(outcome),
})

const toRedactingListener = (listener: Listener, redactor: Redactor): Listener => ({
  progress: (update) => listener.progress(redactor.value(update)),
  log: (entry) => listener.log(redactor.value(entry)),
})
