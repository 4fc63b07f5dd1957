import { stat } from 'node:fs/promises'
import type { Fault } from '../capability/fault.ts'
import { SetupError } from '../capability/setup-error.ts'
import { toApprovalMessage } from '../governance/approval-view.ts'
import { Approvals } from '../governance/approvals.ts'
import type { Approval, AuditEntry, Run } from '../governance/ledger.ts'
import { settleRun } from '../governance/settle-run.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { type KeyRing, toKeyRing } from '../sources/intents/crypto/key-ring.ts'
import type { ChainName } from '../storage/ledger/chain-block.ts'
import type { ChainRecord } from '../storage/ledger/chain-table.ts'
import { CheckpointSigner } from '../storage/ledger/checkpoint.ts'
import { readWitnessOf } from '../storage/ledger/open-ledger-file.ts'
import { SqliteExecutionLog } from '../storage/ledger/sqlite-execution-log.ts'
import type { SqliteLedger } from '../storage/ledger/sqlite-ledger.ts'
import {
  type CheckpointFile,
  type LedgerVerification,
  verifyLedger,
} from '../storage/ledger/verify-ledger.ts'
import { type Configuration, findConfig, toStore } from './config/find-config.ts'
import { ExecutionHistory } from './execution-history.ts'
import { readKeys, toMapping } from './intent-keys.ts'
import { openLedger } from './open-ledger.ts'

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
  settle(id: string, state: 'done' | 'failed', by: string): Promise<Run | Fault>
  close(): Promise<void>
}

/** Opens the store of a configuration. */
export async function openStore(
  what: string,
  environment: Readonly<Record<string, string | undefined>>,
  onError: (error: unknown) => void,
): Promise<OperatorStore> {
  const configuration = await findConfig(what, environment)
  const file = toStore(configuration)
  if (!(await stat(file).catch(() => undefined)))
    throw new SetupError(`There is no store ${file} yet: no call has been made.`)
  const ledger = openLedger({
    file,
    keepRunsMs: configuration.config.policy.keys.window * 1000,
    onError,
  })
  return {
    approvals: new Approvals(ledger, Date.now),
    runs: ledger.read,
    audit: ledger.audit,
    publicKey: new CheckpointSigner(ledger.secret).publicKey,
    verify(chain, checkpoints) {
      const { audit, secret, damage } = ledger
      const { events } = ledger.executions
      const chains = { audit, events, secret, witness: readWitnessOf(file) }
      const verification = verifyLedger(chains, chain, checkpoints)
      return { ...verification, ...dropUndefined({ damage: damage?.message }) }
    },
    executions: new ExecutionHistory(
      new SqliteExecutionLog(ledger, Date.now),
      await readKeyRings(configuration),
    ),
    describe: ({ capability, shown }) => toApprovalMessage(capability, shown),
    settle: (id, state, by) => settleRun(ledger, id, state, { by, at: Date.now() }),
    close: () => ledger.close(),
  }
}

/** The keys that the execution log may be sealed with. */
const readKeyRings = async ({ config, folder }: Configuration): Promise<readonly KeyRing[]> =>
  Promise.all(
    config.sources.flatMap((source) =>
      'intents' in source ? [readKeys(toMapping(source.intents).keys, folder).then(toKeyRing)] : [],
    ),
  )
