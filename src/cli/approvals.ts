import os from 'node:os'
import { defineCommand } from 'citty'
import { type Approval, openStore } from '../runtime/open-store.ts'
import { jsonFlag } from './open.ts'
import { print, printJson, say } from './print.ts'
import { UsageError } from './usage-error.ts'

const actions = ['list', 'show', 'approve', 'deny'] as const

export const approvals = defineCommand({
  meta: {
    name: 'approvals',
    description:
      'The human side of an approval: drawbridge approvals [list|show|approve|deny] [ID].',
  },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'list',
      description: actions.join(', '),
    },
    id: { type: 'positional', required: false, description: 'which one' },
    what: { type: 'string', default: '.', description: 'the configuration whose store is meant' },
    as: { type: 'string', description: 'who decides (you)' },
    all: { type: 'boolean', description: 'list those that are decided or expired, too' },
    json: jsonFlag,
  },
  async run({ args }) {
    const action = actions.find((one) => one === args.action)
    if (!action)
      throw new UsageError(`There is no "${args.action}". There is: ${actions.join(', ')}`)
    const store = await openStore(args.what, process.env, (error) => say(String(error)))
    try {
      if (action === 'list') {
        const list = store.approvals.list(args.all ?? false)
        if (args.json) printJson(list)
        else if (list.length === 0) say('Nothing waits for an approval.')
        else for (const one of list) print(toRow(one))
        return 0
      }
      if (args.id === undefined)
        throw new UsageError(`Say which one: drawbridge approvals ${action} ID`)
      if (action === 'show') {
        const approval = store.approvals.find(args.id)
        if (!approval) return no(`There is no approval ${args.id}.`)
        if (args.json) printJson(approval)
        else print(`${toRow(approval)}\n${store.describe(approval)}`)
        return 0
      }
      const by = args.as ?? os.userInfo().username
      const state = action === 'approve' ? 'approved' : 'denied'
      const decided = await store.approvals.decide(args.id, state, by)
      if ('problem' in decided) return no(decided.problem)
      if (args.json) printJson(decided.approval)
      else print(`${args.id} is ${state} by ${by}. The same call, made again, ${next[state]}.`)
      return 0
    } finally {
      await store.close()
    }
  },
})

const next = { approved: 'runs once', denied: 'is refused' }

function no(problem: string): number {
  say(problem)
  return 1
}

const toRow = ({ id, state, capability, caller, expires }: Approval): string =>
  `${id} ${state.padEnd(8)} ${capability} for ${caller}, until ${new Date(expires).toISOString()}`
