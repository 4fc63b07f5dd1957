import { text } from '../capability/content.ts'
import type { Fault } from '../capability/fault.ts'
import type { Done, Failed } from '../capability/outcome.ts'
import { refused } from './failures.ts'
import type { Ledger, Run } from './ledger.ts'

export interface Settlement {
  readonly by: string
  readonly at: number
  /** The operator knows that the process of an unseen run has ended. */
  readonly processEnded?: boolean
  /** The actual outcome, when known. */
  readonly outcome?: Done | Failed
}

/** Records the operator's finding about a run with an unknown outcome; repeats get it replayed. */
export const settleRun = (
  ledger: Ledger,
  id: string,
  state: 'done' | 'failed',
  settlement: Settlement,
): Promise<Run | Fault> =>
  ledger.write((writer) => {
    const { by, at } = settlement
    const run = writer.run(id)
    if (!run) return { fault: `There is no run ${id}.` }
    if (run.isUnseen && !settlement.processEnded)
      return {
        fault: `${id} is running in a process that cannot be seen from here: in another container, or on another machine. If you know that this process has ended, add --process-ended.`,
      }
    if (run.state !== 'unknown' && !run.isUnseen)
      return { fault: `${id} is ${run.state}: there is nothing to settle.` }
    const message = `Settled by ${by}: it ${state === 'done' ? 'took effect' : 'did not take effect'}.`
    const outcome =
      settlement.outcome ??
      (state === 'done'
        ? ({ kind: 'done', content: [text(message)] } as const)
        : refused('outcome_unknown', message))
    writer.endRun(id, { state, finished: at, outcome })
    if (state === 'failed')
      for (const { account, window, amount } of run.charges) writer.charge(account, window, -amount)
    const { caller, capability } = run
    writer.append({ event: 'settled', at, id, caller, capability, outcome: state, by })
    const { isUnseen, ...seen } = run
    return { ...seen, state, finished: at, outcome }
  })
