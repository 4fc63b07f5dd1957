import { randomUUID } from 'node:crypto'
import { type Call, emptyListing } from '../../src/capability/call.ts'
import type { Caller } from '../../src/capability/caller.ts'
import { Cancellation } from '../../src/capability/cancellation.ts'
import type { Capability } from '../../src/capability/capability.ts'
import { readOnly } from '../../src/capability/effects.ts'
import { silentListener } from '../../src/capability/listener.ts'
import { done } from '../../src/capability/outcome.ts'
import { emptyPlan } from '../../src/capability/plan.ts'
import { noRules, type Rules } from '../../src/capability/rules.ts'
import { readContract } from '../../src/contracts/read-contract.ts'
import { createPipeline, type GovernanceSettings } from '../../src/governance/pipeline.ts'
import { Redactor } from '../../src/governance/redactor.ts'
import { limitRate } from '../../src/governance/steps/limit-rate.ts'
import type { OperatorFailure } from '../../src/governance/steps/record-audit.ts'
import { InFlight } from '../../src/runtime/in-flight.ts'
import type { SyncFile } from '../../src/storage/ledger/jobs/write-ahead-log.ts'
import type { ServerProcess } from '../../src/storage/ledger/processes/process-registry.ts'
import { SqliteLedger } from '../../src/storage/ledger/sqlite-ledger.ts'
import type { SystemClocks } from '../../src/storage/ledger/time/judge-time.ts'

/** Throws for an invalid schema. */
export function aContract(schema: unknown, direction: 'input' | 'output' = 'input') {
  const reading = readContract(schema, direction)
  if ('fault' in reading) throw new Error(reading.fault)
  return reading.contract
}

export const aCapability = ({
  rules = {},
  ...rest
}: Partial<Omit<Capability, 'rules'>> & { rules?: Partial<Rules> } = {}): Capability => ({
  name: 'look_up',
  description: 'Looks something up.',
  input: aContract({ type: 'object' }),
  effects: readOnly,
  origin: { source: 'test', pointer: '/look_up' },
  extras: {},
  invoke: async () => done({}),
  ...rest,
  rules: { ...noRules, ...rules },
})

export const aCaller = (scopes: readonly string[] = []): Caller => ({
  subject: 'ann',
  scopes: new Set(scopes),
})

export const aCall = (parts: Partial<Call> = {}): Call => ({
  id: randomUUID(),
  address: parts.capability?.name ?? 'look_up',
  fingerprint: 'f1',
  capability: aCapability(),
  caller: aCaller(),
  input: {},
  rawInput: parts.input ?? {},
  cancellation: new Cancellation(),
  answers: {},
  state: undefined,
  canAsk: new Set(),
  idempotencyKey: undefined,
  transportKey: undefined,
  expectedFingerprint: undefined,
  listing: emptyListing,
  listener: silentListener,
  traceparent: undefined,
  admitRetry: () => 0,
  isInner: false,
  run: () => Promise.reject(new Error('This capability runs no other.')),
  auditTrail: { decisions: [] },
  plan: emptyPlan,
  ...parts,
})

export interface PipelineParts {
  readonly secrets?: string[]
  readonly file?: string
  readonly now?: () => number
  /** Instead of `now`, for clocks that do not move together. */
  readonly clocks?: SystemClocks
  readonly onWarning?: (message: string) => void
  /** Whether another process that shares the file is alive. */
  readonly isAlive?: () => boolean
  /** Instead of `fdatasync`. */
  readonly syncFile?: SyncFile
  readonly onOperatorFailure?: (failure: OperatorFailure) => void
  readonly settings?: Partial<GovernanceSettings>
}

/** The complete pipeline with a real ledger. */
export function aPipeline({
  secrets = [],
  file,
  now = Date.now,
  clocks = clocksAt(now),
  onWarning = () => {},
  isAlive,
  syncFile,
  onOperatorFailure,
  settings,
}: PipelineParts = {}) {
  const ledger = openTestLedger({ file, clocks, isAlive, onWarning, syncFile })
  const { govern, checks } = createPipeline({
    ledger,
    onOperatorFailure: onOperatorFailure ?? (() => {}),
    newId: randomUUID,
    compare: () => undefined,
    isCodeCurrent: async () => true,
    redactor: new Redactor(secrets),
    inFlight: new InFlight(),
    limitRate: limitRate(now),
    settings: {
      observeOnly: false,
      timeoutMs: 1000,
      maxResultChars: 10_000,
      concurrency: { perCaller: 10_000, total: 10_000 },
      windows: { keyMs: 24 * 60 * 60_000, duplicateMs: 60_000 },
      approvals: { atClientMs: 600_000, elsewhereMs: 3_600_000 },
      policyDigest: 'p1',
      ...settings,
    },
  })
  const readAudit = async () => {
    await ledger.write(() => {})
    return [...ledger.audit.records(0)].map(({ entry }) => entry)
  }
  return { govern, checks, ledger, readAudit }
}

export const aLedger = (file = ':memory:', now = Date.now, isAlive = () => true) =>
  openTestLedger({ file, clocks: clocksAt(now), isAlive, onWarning: () => {} })

interface LedgerParts {
  readonly file: string | undefined
  readonly clocks: SystemClocks
  readonly isAlive: (() => boolean) | undefined
  readonly onWarning: (message: string) => void
  readonly syncFile?: SyncFile | undefined
}

const openTestLedger = ({ file, clocks, isAlive, onWarning, syncFile }: LedgerParts) =>
  new SqliteLedger({
    file: file ?? ':memory:',
    process: aServerProcess(isAlive ?? (() => true)),
    keepRunsMs: 24 * 60 * 60_000,
    clocks,
    onError: () => {},
    onWarning,
    ...(syncFile && { syncFile }),
  })

/** A process as on systems without /proc: only its PID is known. */
export const aServerProcess = (isAlive: (pid: number) => boolean): ServerProcess => ({
  processId: randomUUID(),
  pid: process.pid,
  isAlive,
  startOf: () => undefined,
})

/** All clocks of a machine move together. */
export const clocksAt = (now: () => number): SystemClocks => ({
  wallMs: now,
  steadyMs: now,
  uptimeMs: now,
  bootId: undefined,
})
