import os from 'node:os'
import { defineCommand } from 'citty'
import { type ExecutionSummary, executionStates } from '../runtime/execution-desk.ts'
import { openStore, type Store } from '../runtime/open-store.ts'
import { toDifferences } from './differences.ts'
import { jsonFlag, open } from './open.ts'
import { print, printJson, say } from './print.ts'
import { toAccount, toParts } from './show-execution.ts'
import { UsageError } from './usage-error.ts'

const actions = ['list', 'show', 'rerun', 'resume'] as const

export const executions = defineCommand({
  meta: {
    name: 'executions',
    description:
      'What was routed to which agent, and why: drawbridge executions [list|show|rerun|resume] [ID].',
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
    state: { type: 'string', description: `list only ${executionStates.join(', ')}` },
    intent: { type: 'string', description: 'list only this intent' },
    limit: { type: 'string', default: '100', description: 'the latest so many' },
    verify: { type: 'boolean', description: 'check that no event was changed or removed' },
    again: { type: 'boolean', description: 'rerun: even what must not happen twice' },
    as: { type: 'string', description: 'resume: who does so (you)' },
    json: jsonFlag,
  },
  async run({ args }) {
    const action = actions.find((one) => one === args.action)
    if (!action)
      throw new UsageError(`There is no "${args.action}". There is: ${actions.join(', ')}`)
    if (args.verify) return withStore(args.what, (store) => verify(store, args.json ?? false))
    if (action === 'list') return withStore(args.what, (store) => list(store, toWish(args)))
    if (args.id === undefined)
      throw new UsageError(`Say which one: drawbridge executions ${action} ID`)
    const one = { what: args.what, id: args.id, json: args.json ?? false }
    switch (action) {
      case 'show':
        return withStore(args.what, (store) => show(store, one))
      case 'rerun':
        return rerun(one, args.again ?? false)
      case 'resume':
        return resume(one, args.as ?? os.userInfo().username)
    }
  },
})

interface One {
  readonly what: string
  readonly id: string
  readonly json: boolean
}

interface Wish {
  readonly state?: ExecutionSummary['state']
  readonly intent?: string
  readonly limit: number
  readonly json: boolean
}

interface ListArguments {
  readonly state?: string | undefined
  readonly intent?: string | undefined
  readonly limit: string
  readonly json?: boolean | undefined
}

function toWish({ state: wanted, intent, limit, json = false }: ListArguments): Wish {
  const state = executionStates.find((one) => one === wanted)
  if (wanted !== undefined && !state)
    throw new UsageError(`There is no state "${wanted}". There is: ${executionStates.join(', ')}`)
  return {
    ...(state && { state }),
    ...(intent !== undefined && { intent }),
    limit: Number(limit),
    json,
  }
}

async function withStore(what: string, work: (store: Store) => number): Promise<number> {
  const store = await openStore(what, process.env, (error) => say(String(error)))
  try {
    return work(store)
  } finally {
    await store.close()
  }
}

function list({ executions }: Store, { json, ...filter }: Wish): number {
  const found = executions.list(filter)
  if (json) printJson(found)
  else for (const one of found) print(toRow(one))
  return 0
}

function verify({ executions }: Store, json: boolean): number {
  const { count, broken } = executions.verify()
  if (json) printJson({ count, ...(broken && { broken }) })
  else if (broken) print(`Event ${broken.number}: ${broken.reason}. ${count} before it are sound.`)
  else print(`${count} events, all sound.`)
  return broken ? 1 : 0
}

function show({ executions }: Store, { id, json }: One): number {
  const execution = executions.find(id)
  if (!execution) return no(`There is no execution ${id}.`)
  if (json) printJson({ ...toParts(execution), events: execution.events })
  else for (const line of toAccount(execution)) print(line)
  return 0
}

/** A governed call like any other, with the same arguments; then both are laid side by side. */
async function rerun({ what, id, json }: One, again: boolean): Promise<number> {
  const { bridge } = await open(what)
  try {
    const former = bridge.executions.find(id)
    const begun = former?.events.find((event) => event.event === 'begun')
    if (!former || !begun) return no(`There is no execution ${id}.`)
    if (begun.effects.writes && !begun.effects.repeatable && !again)
      return no(`${begun.address} takes effect each time. Say --again if that is what you want.`)
    const [mount, name] = begun.address.startsWith('/')
      ? begun.address.split(' ', 2)
      : ['/mcp', begun.address]
    const result = await bridge.call(name ?? '', begun.envelope.payload, {
      ...(mount !== undefined && { mount }),
    })
    const later = String(result._meta?.['dev.drawbridge/call-id'])
    const present = bridge.executions.find(later)
    if (!present) return no(`It was not routed: ${JSON.stringify(result.content)}`)
    const differences = toDifferences(toParts(former).result, toParts(present).result)
    if (json) printJson({ id: later, former: id, differences })
    else {
      print(`${later} is ${present.state}; ${id} was ${former.state}.`)
      if (differences.length === 0) print('Nothing is different.')
      for (const { pointer, former, present } of differences)
        print(`${pointer} was ${JSON.stringify(former)}, is ${JSON.stringify(present)}`)
    }
    return differences.length === 0 ? 0 : 1
  } finally {
    await bridge.close()
  }
}

async function resume({ what, id, json }: One, by: string): Promise<number> {
  const { bridge } = await open(what)
  try {
    const resumed = await bridge.resume(id, by)
    if ('refused' in resumed) return no(resumed.refused)
    if (json) printJson(toParts(resumed.execution))
    else for (const line of toAccount(resumed.execution)) print(line)
    return resumed.execution.state === 'done' ? 0 : 1
  } finally {
    await bridge.close()
  }
}

function no(problem: string): number {
  say(problem)
  return 1
}

const toRow = ({ id, state, intent, version, caller, started, finished }: ExecutionSummary) =>
  `${id} ${state.padEnd(11)} ${intent} ${version} for ${caller} at ${new Date(started).toISOString()}${finished === undefined ? '' : `, ${finished - started} ms`}`
