import { existsSync } from 'node:fs'
import { localUser } from '../../capability/caller.ts'
import type { Fault } from '../../capability/fault.ts'
import { SetupError } from '../../capability/setup-error.ts'
import { toApprovalMessage } from '../../governance/approval-view.ts'
import { type ApprovalResult, Approvals, findCallerFault } from '../../governance/approvals.ts'
import type { Approval, AuditEntry, Clock, Run } from '../../governance/ledger.ts'
import { settleRun } from '../../governance/settle-run.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { type KeyRing, toKeyRing } from '../../sources/intents/crypto/key-ring.ts'
import { readApproverSecret } from '../../storage/approver-secret.ts'
import type { ChainName } from '../../storage/ledger/chain/chain-block.ts'
import type { ChainRecord } from '../../storage/ledger/chain/chain-table.ts'
import { CheckpointSigner } from '../../storage/ledger/chain/checkpoint.ts'
import {
  type CheckpointFile,
  type LedgerVerification,
  verifyLedger,
} from '../../storage/ledger/damage/verify-ledger.ts'
import { readWitnessOf } from '../../storage/ledger/open-ledger-file.ts'
import { SqliteExecutionLog } from '../../storage/ledger/sqlite-execution-log.ts'
import type { SqliteLedger } from '../../storage/ledger/sqlite-ledger.ts'
import { isDanglingLink } from '../../storage/private-file.ts'
import { type Configuration, findConfig, toStore } from '../config/find-config.ts'
import { ExecutionHistory } from '../intents/execution-history.ts'
import { readKeys, toMapping } from '../intents/intent-keys.ts'
import { openLedger } from './open-ledger.ts'
import { toRetention } from './retention.ts'

export type { Approval, ChainName, LedgerVerification, Run }
export type AuditRecord = ChainRecord<AuditEntry>

/** The ledger for operators. */
export interface OperatorStore {
  readonly approvals: Approvals
  readonly runs: Pick<SqliteLedger['read'], 'run' | 'runs'>
  readonly audit: SqliteLedger['audit']
  /** Public key that verifies checkpoints of this store. */
  readonly publicKey: string
  /** Verifies a chain, also against checkpoints that were received elsewhere. */
  verify(chain: ChainName, checkpoints?: CheckpointFile): LedgerVerification
  readonly executions: ExecutionHistory
  describe(approval: Approval): string
  /** Needs the credential of approvers. `user` must not have made the call either, whatever `by` says. */
  decide(
    id: string,
    state: 'approved' | 'denied',
    { by, user }: { readonly by: string; readonly user: string | undefined },
  ): Promise<ApprovalResult>
  readonly clock: OperatorClock
  settle(id: string, state: 'done' | 'failed', settlement: RunSettlement): Promise<Run | Fault>
  close(): Promise<void>
}

export interface RunSettlement {
  readonly by: string
  /** The operator knows that the process of an unseen run has ended. */
  readonly processEnded: boolean
}

/** The clock of the ledger for operators. */
export interface OperatorClock extends Pick<Clock, 'calendarNow' | 'findDoubt'> {
  /** Wall clock minus the ledger's clock. */
  readonly driftMs: number
  /** Declares the wall clock right; returns the difference, 0 if there was none to confirm. */
  confirm(by: string): Promise<number>
}

/** Opens the store of a configuration. */
export async function openStore(
  what: string,
  environment: Readonly<Record<string, string | undefined>>,
  onError: (error: unknown) => void,
): Promise<OperatorStore> {
  const configuration = await findConfig(what, environment)
  const file = toStore(configuration)
  if (!isDanglingLink(file) && !existsSync(file))
    throw new SetupError(`There is no store ${file} yet: no call has been made.`)
  const ledger = openLedger({
    file,
    checksRows: false,
    keepRunsMs: toRetention(configuration.config.policy).keepRunsMs,
    onError,
    onWarning: onError,
  })
  const { clock } = ledger
  const withDates = (run: Run): Run => ({
    ...run,
    started: clock.toCalendar(run.started),
    ...(run.finished !== undefined && { finished: clock.toCalendar(run.finished) }),
  })
  const approvals = new Approvals(ledger)
  return {
    approvals,
    runs: {
      run: (id) => {
        const run = ledger.read.run(id)
        return run && withDates(run)
      },
      runs: (state, limit) => ledger.read.runs(state, limit).map(withDates),
    },
    audit: ledger.audit,
    publicKey: new CheckpointSigner(ledger.secret).publicKey,
    verify(chain, checkpoints) {
      const { audit, secret } = ledger
      const damage = ledger.checkRows()
      const { events } = ledger.executions
      const chains = { audit, events, secret, witness: readWitnessOf(file) }
      const verification = verifyLedger(chains, chain, checkpoints)
      return { ...verification, ...dropUndefined({ damage: damage?.message }) }
    },
    executions: new ExecutionHistory(
      new SqliteExecutionLog(ledger),
      await readKeyRings(configuration),
    ),
    describe: ({ capability, shown }) => toApprovalMessage(capability, shown),
    async decide(id, state, { by, user }) {
      requireApproverSecret(file)
      const approval = approvals.find(id)
      // The caller "local" is whoever uses this machine, not a person of that name.
      const isPerson = user !== undefined && user !== localUser.subject
      const fault = approval && isPerson ? findCallerFault(approval, user) : undefined
      return fault === undefined ? approvals.decide(id, state, by) : { fault }
    },
    clock: {
      calendarNow: clock.calendarNow,
      findDoubt: clock.findDoubt,
      get driftMs() {
        return clock.driftMs
      },
      confirm: (by) => ledger.write((writer) => clock.confirm(writer, by)),
    },
    settle: (id, state, settlement) =>
      settleRun(ledger, id, state, { ...settlement, at: clock.now() }),
    close: () => ledger.close(),
  }
}

function requireApproverSecret(store: string): void {
  try {
    readApproverSecret(store)
  } catch (error) {
    throw new SetupError((error as Error).message)
  }
}

/** The keys that the execution log may be sealed with. */
const readKeyRings = async ({ config, folder }: Configuration): Promise<readonly KeyRing[]> =>
  Promise.all(
    config.sources.flatMap((source) =>
      'intents' in source ? [readKeys(toMapping(source.intents).keys, folder).then(toKeyRing)] : [],
    ),
  )
