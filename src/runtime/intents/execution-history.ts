import { type Fault, isFault } from '../../capability/fault.ts'
import type { Ledger } from '../../governance/ledger.ts'
import { settleRun } from '../../governance/settle-run.ts'
import type { KeyRing } from '../../sources/intents/crypto/key-ring.ts'
import type {
  ExecutionEvent,
  ExecutionFilter,
  ExecutionLog,
  ExecutionState,
  ExecutionSummary,
  LoggedExecution,
} from '../../sources/intents/log/execution-log.ts'
import { executionStates, isSealed } from '../../sources/intents/log/execution-log.ts'
import { openExecution } from '../../sources/intents/log/log-seal.ts'
import type { ResumableSource } from '../../sources/intents/resume-routing.ts'

export type { ExecutionEvent, ExecutionFilter, ExecutionState, ExecutionSummary, LoggedExecution }
export { executionStates, isSealed }

/** The execution log for operators, with payloads decrypted. */
export class ExecutionHistory {
  readonly #log: ExecutionLog
  readonly #keys: readonly KeyRing[]

  constructor(log: ExecutionLog, keys: readonly KeyRing[]) {
    this.#log = log
    this.#keys = keys
  }

  /** The latest executions, latest first. */
  list(filter: ExecutionFilter): readonly ExecutionSummary[] {
    return this.#log.read.list(filter)
  }

  /** One execution with its events. Payloads that a configured key can open are decrypted. */
  find(id: string): LoggedExecution | undefined {
    const execution = this.#log.read.find(id)
    return execution && this.#keys.reduce(openExecution, execution)
  }

  /** Verifies the hash chain and reports the first event that was changed. */
  verify(): ReturnType<ExecutionLog['read']['verify']> {
    return this.#log.read.verify()
  }
}

export interface ResumeParts {
  readonly history: ExecutionHistory
  readonly sources: readonly ResumableSource[]
  readonly ledger: Ledger
}

/** The resumed execution, or why it cannot be resumed. */
export type ResumeResult = { readonly execution: LoggedExecution } | Fault

/** Resumes an interrupted execution, and settles the run that belongs to it. */
export async function resumeAndSettle(
  { history, sources, ledger }: ResumeParts,
  id: string,
  by: string,
): Promise<ResumeResult> {
  const execution = history.find(id)
  if (!execution) return { fault: `There is no execution ${id}.` }
  const { resumeExecution } = await import('../../sources/intents/resume-routing.ts')
  const resumed = await resumeExecution(execution, { sources, verify: () => history.verify(), by })
  if (isFault(resumed)) return resumed
  const { routed, outcome } = resumed
  if (routed.state !== 'unknown' && outcome.kind !== 'asking')
    await settleRun(ledger, id, routed.state, { by, at: ledger.clock.now(), outcome })
  return { execution: history.find(id) ?? execution }
}
