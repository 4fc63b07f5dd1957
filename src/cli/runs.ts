import os from 'node:os'
import { defineCommand } from 'citty'
import { openStore, type Run } from '../runtime/open-store.ts'
import { jsonFlag } from './open.ts'
import { print, printJson, say } from './print.ts'
import { UsageError } from './usage-error.ts'

const states = ['running', 'done', 'failed', 'unknown'] as const

export const runs = defineCommand({
  meta: {
    name: 'runs',
    description:
      'What took effect, and what nobody knows the end of: drawbridge runs [list|show|settle] [ID].',
  },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'list',
      description: 'list, show, settle',
    },
    id: { type: 'positional', required: false, description: 'which one' },
    what: { type: 'string', default: '.', description: 'the configuration whose store is meant' },
    state: { type: 'string', description: 'list only running, done, failed or unknown' },
    took: { type: 'string', description: 'settle: "effect" or "none"' },
    as: { type: 'string', description: 'who settles it (you)' },
    json: jsonFlag,
  },
  async run({ args }) {
    const store = await openStore(args.what, process.env, (error) => say(String(error)))
    try {
      if (args.action === 'list') {
        const state = states.find((one) => one === args.state)
        if (args.state !== undefined && !state)
          throw new UsageError(`There is no state "${args.state}". There is: ${states.join(', ')}`)
        const list = store.runs.runs(state, 100)
        if (args.json) printJson(list)
        else for (const run of list) print(toRow(run))
        return 0
      }
      if (args.id === undefined)
        throw new UsageError(`Say which one: drawbridge runs ${args.action} ID`)
      if (args.action === 'show') {
        const run = store.runs.run(args.id)
        if (run) printJson(run)
        else say(`There is no run ${args.id}.`)
        return run ? 0 : 1
      }
      if (args.action !== 'settle')
        throw new UsageError(`There is no "${args.action}". There is: list, show, settle`)
      if (args.took !== 'effect' && args.took !== 'none')
        throw new UsageError('Say what you found out: --took effect, or --took none')
      const by = args.as ?? os.userInfo().username
      const state = args.took === 'effect' ? 'done' : 'failed'
      const settled = await store.settle(args.id, state, by)
      if (typeof settled === 'string') say(settled)
      else if (args.json) printJson(settled)
      else print(`${args.id} is settled: its key answers that from now on.`)
      return typeof settled === 'string' ? 1 : 0
    } finally {
      await store.close()
    }
  },
})

const toRow = ({ id, state, capability, caller, started, key }: Run): string =>
  `${id} ${state.padEnd(8)} ${capability} for ${caller} at ${new Date(started).toISOString()}${key === undefined ? '' : ` key ${key}`}`
