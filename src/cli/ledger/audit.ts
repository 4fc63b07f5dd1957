import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand } from 'citty'
import type { AuditRecord, OperatorStore } from '../../runtime/store/open-store.ts'
import { descriptions } from '../descriptions.ts'
import { jsonFlag } from '../terminal/flags.ts'
import { isOutputClosed, print, printJson, printJsonLine, printMessage } from '../terminal/print.ts'
import { checkpointsFlag, verifyChain } from './verify-chain.ts'
import { withStore } from './with-store.ts'

const pollIntervalMs = 250

export const audit = defineCommand({
  meta: { name: 'audit', description: descriptions.audit },
  args: {
    what: {
      type: 'positional',
      required: false,
      default: '.',
      description: 'the configuration whose store is used',
    },
    follow: { type: 'boolean', description: 'keep running and print new records' },
    verify: {
      type: 'boolean',
      description: 'verify the hash chain: that no record was changed or removed',
    },
    checkpoints: checkpointsFlag,
    'public-key': {
      type: 'boolean',
      description: 'print the public key that verifies checkpoints of this store',
    },
    caller: { type: 'string', description: 'only calls of this caller' },
    capability: { type: 'string', description: 'only calls of this tool' },
    outcome: { type: 'string', description: 'only calls with this outcome: done, failed, asking' },
    limit: {
      type: 'string',
      default: '100',
      description: 'maximum number of records, the latest ones',
    },
    json: jsonFlag,
  },
  run({ args }) {
    const { what, json = false } = args
    if (args['public-key']) return withStore(what, printPublicKey)
    if (args.verify || args.checkpoints !== undefined)
      return withStore(what, (store) =>
        verifyChain(store, { chain: 'audit', file: args.checkpoints, json }),
      )
    return withStore(what, (store) => list(store, args))
  },
})

function printPublicKey({ publicKey }: OperatorStore): number {
  print(publicKey)
  return 0
}

interface ListFlags {
  readonly caller?: string | undefined
  readonly capability?: string | undefined
  readonly outcome?: string | undefined
  readonly limit: string
  readonly json?: boolean | undefined
  readonly follow?: boolean | undefined
}

async function list(store: OperatorStore, flags: ListFlags): Promise<number> {
  const { caller, capability, outcome, limit, json, follow } = flags
  const isSelected = ({ entry }: AuditRecord): boolean =>
    (caller === undefined || entry.caller === caller) &&
    (capability === undefined || entry.capability === capability) &&
    (outcome === undefined || entry.outcome === outcome)
  let next = 0
  const latest: AuditRecord[] = []
  for (const record of store.audit.records(0)) {
    next = record.number + 1
    if (!isSelected(record)) continue
    latest.push(record)
    if (latest.length > Number(limit)) latest.shift()
  }
  const show = (record: AuditRecord) =>
    json ? printJsonLine(toItem(record)) : print(toLine(record))
  if (json && !follow) printJson(latest.map(toItem))
  else for (const record of latest) show(record)
  if (!follow) return 0
  printMessage('Following new records; Ctrl-C stops.')
  while (!isOutputClosed()) {
    await sleep(pollIntervalMs)
    for (const record of store.audit.records(next)) {
      next = record.number + 1
      if (isSelected(record)) show(record)
    }
  }
  return 0
}

const toItem = ({ number, hash, entry }: AuditRecord) => {
  const { id, ...rest } = entry
  return { id: String(number), hash, ...(id !== undefined && { call: id }), ...rest }
}

function toLine({ number, entry }: AuditRecord): string {
  const { at, event, caller = '-', capability = '-', outcome = '', code = '' } = entry
  const { duration, seconds, by } = entry
  const words = [
    String(number).padStart(6),
    new Date(at).toISOString(),
    event.padEnd(8),
    caller,
    capability,
    outcome,
    code,
    ...(duration === undefined ? [] : [`${duration} ms`]),
    ...(seconds === undefined ? [] : [`${seconds} s`]),
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(entry.decisions ?? []).map(({ step, decision, note }) => `${step}:${note ?? decision}`),
  ]
  return words.filter((word) => word !== '').join(' ')
}
