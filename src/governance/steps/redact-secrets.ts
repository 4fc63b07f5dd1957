import type { Listener } from '../../capability/listener.ts'
import type { Redactor } from '../redactor.ts'
import type { Step } from './step.ts'

/** Redacts every known secret from outcomes, progress and log entries. */
export const redactSecrets =
  (redactor: Redactor): Step =>
  async (call, next) =>
    redactor.value(await next({ ...call, listener: toRedactingListener(call.listener, redactor) }))

const toRedactingListener = (listener: Listener, redactor: Redactor): Listener => ({
  progress: (update) => listener.progress(redactor.value(update)),
  log: (entry) => listener.log(redactor.value(entry)),
})
