import { defineCommand } from 'citty'
import { isFault } from '../../capability/fault.ts'
import type { OperatorStore, Run, RunSettlement } from '../../runtime/store/open-store.ts'
import { descriptions } from '../descriptions.ts'
import { fail, print, printJson } from '../terminal/print.ts'
import { readAction, readState, requireId } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { storeArguments, toOperator, withStore } from './with-store.ts'

const actions = ['list', 'show', 'settle'] as const
const states = ['running', 'done', 'failed', 'unknown'] as const

export const runs = defineCommand({
  meta: { name: 'runs', description: descriptions.runs },
  args: {
    ...storeArguments(actions, {
      id: 'id of the run; required, except for list',
      as: 'settle: name recorded as the person who settled the run (default: your user name)',
    }),
    state: { type: 'string', description: `list: only runs in this state: ${states.join(', ')}` },
    took: {
      type: 'string',
      description: 'settle: "effect" if the run took effect, "none" if it did not',
    },
    'process-ended': {
      type: 'boolean',
      description: 'settle: the process of the run has ended, though it cannot be seen from here',
    },
  },
  async run({ args: { action: word, id, what, as, state, took, json = false, ...flags } }) {
    const action = readAction(actions, word)
    return withStore(what, (store) => {
      if (action === 'list') return list(store, readState(states, state), json)
      const runId = requireId('runs', action, id)
      if (action === 'show') return show(store, runId)
      const processEnded = flags['process-ended'] ?? false
      const settlement = { by: toOperator(as), processEnded }
      return settle(store, { id: runId, state: toState(took), settlement, json })
    })
  },
})

function list(store: OperatorStore, state: Run['state'] | undefined, json: boolean): number {
  const entries = store.runs.runs(state, 100)
  if (json) printJson(entries)
  else for (const run of entries) print(toRow(run))
  return 0
}

function show(store: OperatorStore, id: string): number {
  const run = store.runs.run(id)
  if (!run) return fail(`There is no run ${id}.`)
  printJson(run)
  return 0
}

function toState(took: string | undefined): 'done' | 'failed' {
  if (took === 'effect') return 'done'
  if (took === 'none') return 'failed'
  throw new UsageError('State whether the run took effect: --took effect, or --took none')
}

interface Settlement {
  readonly id: string
  readonly state: 'done' | 'failed'
  readonly settlement: RunSettlement
  readonly json: boolean
}

async function settle(
  store: OperatorStore,
  { id, state, settlement, json }: Settlement,
): Promise<number> {
  const settled = await store.settle(id, state, settlement)
  if (isFault(settled)) return fail(settled.fault)
  if (json) printJson(settled)
  else print(`${id} is settled. Calls with its key now get this result.`)
  return 0
}

const toRow = ({ id, state, capability, caller, started, key }: Run): string =>
  `${id} ${state.padEnd(8)} ${capability} for ${caller} at ${new Date(started).toISOString()}${key === undefined ? '' : ` key ${key}`}`
