import { defineCommand } from 'citty'
import {
  type Backup,
  backUp,
  checkStores,
  type Repaired,
  type Restored,
  repair,
  restore,
  type StoreCheck,
} from '../../runtime/store/maintain-store.ts'
import { descriptions } from '../descriptions.ts'
import { toOperator } from '../ledger/with-store.ts'
import { jsonFlag } from '../terminal/flags.ts'
import { count, print, printJson, printMessage } from '../terminal/print.ts'
import { readAction } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'

const actions = ['check', 'backup', 'restore', 'repair'] as const

export const store = defineCommand({
  meta: { name: 'store', description: descriptions.store },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'check',
      description: actions.join(', '),
    },
    file: { type: 'positional', required: false, description: 'backup, restore: the backup' },
    what: {
      type: 'string',
      default: '.',
      description: 'the configuration whose store is used; check includes its records stores',
    },
    store: { type: 'string', description: 'the store itself, instead of --what' },
    force: { type: 'boolean', description: 'backup: replace an existing backup' },
    as: {
      type: 'string',
      description: 'restore, repair: name recorded as the operator (default: your user name)',
    },
    json: jsonFlag,
  },
  async run({ args: { action: word, file, as, force = false, json = false, ...name } }) {
    const action = readAction(actions, word)
    if (file !== undefined && (action === 'check' || action === 'repair'))
      throw new UsageError(
        `Unexpected argument ${JSON.stringify(file)}. Name the store with --store.`,
      )
    switch (action) {
      case 'check':
        return report(await checkStores(name, process.env), json, toCheckReport, isSound)
      case 'backup': {
        const target = requireFile(action, file)
        printMessage('Copying the store …')
        return report(await backUp(name, { target, force }, process.env), json, toBackupReport)
      }
      case 'restore': {
        const backup = requireFile(action, file)
        const restored = await restore(name, { backup, by: toOperator(as) }, process.env)
        return report(restored, json, toRestoreReport)
      }
      case 'repair': {
        const repaired = await repair(name, toOperator(as), process.env)
        return report(repaired, json, toRepairReport, ({ lost }) => lost.length === 0)
      }
    }
  },
})

function requireFile(action: string, file: string | undefined): string {
  if (file === undefined) throw new UsageError(`Name the backup: drawbridge store ${action} FILE`)
  return file
}

function report<T>(
  result: T,
  json: boolean,
  toLines: (result: T) => Iterable<string>,
  isSuccess: (result: T) => boolean = () => true,
): number {
  if (json) printJson(result)
  else for (const line of toLines(result)) print(line)
  return isSuccess(result) ? 0 : 1
}

const isSound = (checks: readonly StoreCheck[]): boolean =>
  checks.every(({ findings }) => findings.every(({ severity }) => severity !== 'error'))

function* toCheckReport(checks: readonly StoreCheck[]): Generator<string> {
  for (const { file, kind = 'store', findings } of checks) {
    for (const { severity, where, message, next } of findings)
      yield `${severity.padEnd(7)} ${where}: ${message}. ${next}`
    if (findings.every(({ severity }) => severity !== 'error'))
      yield `${file}: the ${kind === 'records' ? 'records store' : kind} is sound.`
  }
}

function* toBackupReport({ files, bytes, at }: Backup): Generator<string> {
  yield `Backup of ${new Date(at).toISOString()}, ${bytes} bytes:`
  yield* files
  if (files.some((file) => file.endsWith('.key')))
    yield 'Keep the .key file as safe as the store itself: it verifies the backup, and could forge one.'
}

function* toRestoreReport(restored: Restored): Generator<string> {
  const { kind, file, from, to, generation, kept = {}, lost = [], replaced } = restored
  yield `${file} is restored from the backup of ${toTime(from)}${generation === undefined ? '' : ` as generation ${generation}`}.`
  for (const { table, key, reason } of lost) yield `lost    ${table} ${key}: ${reason}`
  for (const [table, rows] of Object.entries(kept))
    yield `kept    ${table}: ${count(rows, 'row')} of the replaced store`
  if (kind === 'records') yield `Records written after ${toTime(from)} are not in it.`
  else if (lost.length > 0)
    yield `Effects between ${toTime(from)} and ${toTime(to)} may be missing: a call with a key of that time may run again. Compare with the systems that were called.`
  for (const name of replaced) yield `Kept aside: ${name}`
}

function* toRepairReport({ file, saved, lost, damaged, generation }: Repaired): Generator<string> {
  for (const { table, key, reason } of lost) yield `lost    ${table} ${key}: ${reason}`
  for (const [table, rows] of Object.entries(saved)) yield `saved   ${table}: ${count(rows, 'row')}`
  yield `${file} is repaired${generation === undefined ? '' : ` as generation ${generation}`}; ${lost.length === 0 ? 'nothing is lost' : `${count(lost.length, 'entry', 'entries')} above ${lost.length === 1 ? 'is' : 'are'} lost or doubtful`}.`
  for (const name of damaged) yield `Kept aside: ${name}`
}

const toTime = (at: number): string => new Date(at).toISOString()
