import { text } from '../capability/content.ts'
import type { Done, Failed } from '../capability/outcome.ts'
import { refused } from './failures.ts'
import type { Ledger, Run } from './ledger.ts'

export interface Settlement {
  readonly by: string
  readonly at: number
  /** What came of it, where that is known. */
  readonly outcome?: Done | Failed
}

/** An operator who found out what became of a run says so; from then on its key answers that. */
export const settleRun = (
  ledger: Ledger,
  id: string,
  state: 'done' | 'failed',
  { by, at, outcome: known }: Settlement,
): Promise<Run | string> =>
  ledger.write((writer) => {
    const run = writer.run(id)
    if (!run) return `There is no run ${id}.`
    if (run.state !== 'unknown') return `${id} is ${run.state}: there is nothing to settle.`
    const words = `Settled by ${by}: it ${state === 'done' ? 'took effect' : 'did not take effect'}.`
    const outcome =
      known ??
      (state === 'done'
        ? ({ kind: 'done', content: [text(words)] } as const)
        : refused('outcome_unknown', words))
    writer.endRun(id, { state, finished: at, outcome })
    if (state === 'failed')
      for (const { account, window, amount } of run.charges) writer.charge(account, window, -amount)
    const { caller, capability } = run
    writer.append({ event: 'settled', at, id, caller, capability, outcome: state, by })
    return { ...run, state, finished: at, outcome }
  })
