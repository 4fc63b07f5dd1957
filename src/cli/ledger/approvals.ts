import { defineCommand } from 'citty'
import { isFault } from '../../capability/fault.ts'
import type { Approval, OperatorStore } from '../../runtime/store/open-store.ts'
import { descriptions } from '../descriptions.ts'
import { fail, print, printJson, printMessage } from '../terminal/print.ts'
import { readAction, requireId } from '../terminal/read-arguments.ts'
import { findUserName, storeArguments, toOperator, withStore } from './with-store.ts'

const actions = ['list', 'show', 'approve', 'deny'] as const

export const approvals = defineCommand({
  meta: { name: 'approvals', description: descriptions.approvals },
  args: {
    ...storeArguments(actions, {
      id: 'id of the approval; required, except for list',
      as: 'name recorded as the decider (default: your user name)',
    }),
    all: { type: 'boolean', description: 'list: include decided and expired approvals' },
  },
  async run({ args: { action: word, id, what, as, all = false, json = false } }) {
    const action = readAction(actions, word)
    return withStore(what, (store) => {
      if (action === 'list') return list(store, all, json)
      const approvalId = requireId('approvals', action, id)
      if (action === 'show') return show(store, approvalId, json)
      const state = decisions[action]
      return decide(store, { id: approvalId, state, by: toOperator(as), json })
    })
  },
})

const maxListed = 100

const decisions = { approve: 'approved', deny: 'denied' } as const

function list(store: OperatorStore, all: boolean, json: boolean): number {
  const entries = store.approvals.list(all, maxListed)
  if (json) printJson(entries)
  else if (entries.length === 0) printMessage('No call is waiting for an approval.')
  else for (const one of entries) print(toRow(one))
  if (entries.length === maxListed)
    printMessage(`Only ${maxListed} are listed, the latest of each caller first.`)
  return 0
}

function show(store: OperatorStore, id: string, json: boolean): number {
  const approval = store.approvals.find(id)
  if (!approval) return fail(`There is no approval ${id}.`)
  if (json) printJson(approval)
  else print(`${toRow(approval)}\n${store.describe(approval)}`)
  return 0
}

interface ApprovalDecision {
  readonly id: string
  readonly state: 'approved' | 'denied'
  readonly by: string
  readonly json: boolean
}

async function decide(
  store: OperatorStore,
  { id, state, by, json }: ApprovalDecision,
): Promise<number> {
  const decided = await store.decide(id, state, { by, user: findUserName() })
  if (isFault(decided)) return fail(decided.fault)
  if (json) printJson(decided.approval)
  else print(`${id} is ${state} by ${by}. The same call, made again, ${consequences[state]}.`)
  return 0
}

const consequences = { approved: 'runs once', denied: 'is refused' }

const toRow = ({ id, state, capability, caller, expires }: Approval): string =>
  `${id} ${state.padEnd(8)} ${capability} for ${caller}, until ${new Date(expires).toISOString()}`
