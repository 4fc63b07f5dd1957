import { type Listener, silentListener } from '../../capability/listener.ts'
import type { Redactor } from '../redactor.ts'
import type { Step } from './step.ts'

/** Redacts every known secret from outcomes, progress and log entries. */
export const redactSecrets = (redactor: Redactor): Step => {
  const redact = redactOutcome(redactor)
  return (call, next) =>
    call.listener === silentListener
      ? redact(call, next)
      : redact({ ...call, listener: toRedactingListener(call.listener, redactor) }, next)
}

export const redactOutcome =
  (redactor: Redactor): Step =>
  (call, next) =>
    next(call).then((outcome) => redactor.value(outcome))

const toRedactingListener = (listener: Listener, redactor: Redactor): Listener => ({
  progress: (update) => listener.progress(redactor.value(update)),
  log: (entry) => listener.log(redactor.value(entry)),
})
