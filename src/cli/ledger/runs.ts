import { defineCommand } from 'citty'
import { isFault } from '../../capability/fault.ts'
import type { Run, Store } from '../../runtime/open-store.ts'
import { no, print, printJson } from '../terminal/print.ts'
import { needId, readAction, readState } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { readWho, storeArguments, withStore } from './with-store.ts'

const actions = ['list', 'show', 'settle'] as const
const states = ['running', 'done', 'failed', 'unknown'] as const

export const runs = defineCommand({
  meta: {
    name: 'runs',
    description:
      'What took effect, and what nobody knows the end of: drawbridge runs [list|show|settle] [ID].',
  },
  args: {
    ...storeArguments(actions, { as: 'who settles it (you)' }),
    state: { type: 'string', description: `list only ${states.join(', ')}` },
    took: { type: 'string', description: 'settle: "effect" or "none"' },
  },
  async run({ args: { action: said, id, what, as, state, took, json = false } }) {
    const action = readAction(actions, said)
    return withStore(what, (store) => {
      if (action === 'list') return list(store, readState(states, state), json)
      const one = needId('runs', action, id)
      if (action === 'show') return show(store, one)
      return settle(store, { id: one, state: toState(took), by: readWho(as), json })
    })
  },
})

function list(store: Store, state: Run['state'] | undefined, json: boolean): number {
  const found = store.runs.runs(state, 100)
  if (json) printJson(found)
  else for (const run of found) print(toRow(run))
  return 0
}

function show(store: Store, id: string): number {
  const run = store.runs.run(id)
  if (!run) return no(`There is no run ${id}.`)
  printJson(run)
  return 0
}

function toState(took: string | undefined): 'done' | 'failed' {
  if (took === 'effect') return 'done'
  if (took === 'none') return 'failed'
  throw new UsageError('Say what you found out: --took effect, or --took none')
}

interface Settling {
  readonly id: string
  readonly state: 'done' | 'failed'
  readonly by: string
  readonly json: boolean
}

async function settle(store: Store, { id, state, by, json }: Settling): Promise<number> {
  const settled = await store.settle(id, state, by)
  if (isFault(settled)) return no(settled.fault)
  if (json) printJson(settled)
  else print(`${id} is settled: its key answers that from now on.`)
  return 0
}

const toRow = ({ id, state, capability, caller, started, key }: Run): string =>
  `${id} ${state.padEnd(8)} ${capability} for ${caller} at ${new Date(started).toISOString()}${key === undefined ? '' : ` key ${key}`}`
