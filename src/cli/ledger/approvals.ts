import { defineCommand } from 'citty'
import { isFault } from '../../capability/fault.ts'
import type { Approval, Store } from '../../runtime/open-store.ts'
import { no, print, printJson, say } from '../terminal/print.ts'
import { needId, readAction } from '../terminal/read-arguments.ts'
import { readWho, storeArguments, withStore } from './with-store.ts'

const actions = ['list', 'show', 'approve', 'deny'] as const

export const approvals = defineCommand({
  meta: {
    name: 'approvals',
    description:
      'The human side of an approval: drawbridge approvals [list|show|approve|deny] [ID].',
  },
  args: {
    ...storeArguments(actions, { as: 'who decides (you)' }),
    all: { type: 'boolean', description: 'list those that are decided or expired, too' },
  },
  async run({ args: { action: said, id, what, as, all = false, json = false } }) {
    const action = readAction(actions, said)
    return withStore(what, (store) => {
      if (action === 'list') return list(store, all, json)
      const one = needId('approvals', action, id)
      if (action === 'show') return show(store, one, json)
      return decide(store, { id: one, state: verdicts[action], by: readWho(as), json })
    })
  },
})

const verdicts = { approve: 'approved', deny: 'denied' } as const

function list(store: Store, all: boolean, json: boolean): number {
  const found = store.approvals.list(all)
  if (json) printJson(found)
  else if (found.length === 0) say('Nothing waits for an approval.')
  else for (const one of found) print(toRow(one))
  return 0
}

function show(store: Store, id: string, json: boolean): number {
  const approval = store.approvals.find(id)
  if (!approval) return no(`There is no approval ${id}.`)
  if (json) printJson(approval)
  else print(`${toRow(approval)}\n${store.describe(approval)}`)
  return 0
}

interface Verdict {
  readonly id: string
  readonly state: 'approved' | 'denied'
  readonly by: string
  readonly json: boolean
}

async function decide(store: Store, { id, state, by, json }: Verdict): Promise<number> {
  const decided = await store.approvals.decide(id, state, by)
  if (isFault(decided)) return no(decided.fault)
  if (json) printJson(decided.approval)
  else print(`${id} is ${state} by ${by}. The same call, made again, ${next[state]}.`)
  return 0
}

const next = { approved: 'runs once', denied: 'is refused' }

const toRow = ({ id, state, capability, caller, expires }: Approval): string =>
  `${id} ${state.padEnd(8)} ${capability} for ${caller}, until ${new Date(expires).toISOString()}`
