import { isFault } from '../capability/fault.ts'
import type { Ledger } from '../governance/ledger.ts'
import { settleRun } from '../governance/settle-run.ts'
import type { KeyRing } from '../sources/intents/crypto/key-ring.ts'
import type { IntentSource } from '../sources/intents/intent-source.ts'
import type {
  ExecutionEvent,
  ExecutionFilter,
  ExecutionLog,
  ExecutionSummary,
  LoggedExecution,
} from '../sources/intents/log/execution-log.ts'
import { executionStates, isSealed } from '../sources/intents/log/execution-log.ts'
import { openExecution } from '../sources/intents/log/log-seal.ts'
import { toResumption } from '../sources/intents/log/resumption.ts'

export type { ExecutionEvent, ExecutionSummary, LoggedExecution }
export { executionStates, isSealed }

/** The log of executions as an operator sees it. */
export class ExecutionHistory {
  readonly #log: ExecutionLog
  readonly #keys: readonly KeyRing[]

  constructor(log: ExecutionLog, keys: readonly KeyRing[]) {
    this.#log = log
    this.#keys = keys
  }

  list(filter: ExecutionFilter): readonly ExecutionSummary[] {
    return this.#log.read.list(filter)
  }

  /** With its payloads, where there is a key for them. */
  find(id: string): LoggedExecution | undefined {
    const execution = this.#log.read.find(id)
    return execution && this.#keys.reduce(openExecution, execution)
  }

  verify(): ReturnType<ExecutionLog['read']['verify']> {
    return this.#log.read.verify()
  }
}

export interface ResumeParts {
  readonly desk: ExecutionHistory
  readonly sources: readonly IntentSource[]
  readonly ledger: Ledger
  readonly now: () => number
}

export type ResumeResult = { readonly refused: string } | { readonly execution: LoggedExecution }

/** Goes on with an interrupted execution; what came of it is then known of its run, too. */
export async function resumeExecution(
  { desk, sources, ledger, now }: ResumeParts,
  id: string,
  by: string,
): Promise<ResumeResult> {
  const execution = desk.find(id)
  if (!execution) return { refused: `There is no execution ${id}.` }
  const resumption = toResumption(execution)
  if (isFault(resumption)) return { refused: resumption.fault }
  // What cannot be trusted is no reason to do anything.
  const { broken } = desk.verify()
  if (broken) return { refused: `Event ${broken.number} of the log: ${broken.reason}.` }
  const { source: name } = resumption.begun
  const source = sources.find((one) => one.id === name)
  if (!source) return { refused: `There is no source ${name} any more.` }
  const resumed = await source.resume(resumption, by)
  if (isFault(resumed)) return { refused: resumed.fault }
  const { routed, outcome } = resumed
  if (routed.state !== 'unknown' && outcome.kind !== 'asking')
    await settleRun(ledger, id, routed.state, { by, at: now(), outcome })
  return { execution: desk.find(id) ?? execution }
}
