import { defineCommand } from 'citty'
import {
  type ExecutionSummary,
  executionStates,
  isSealed,
} from '../../runtime/execution-history.ts'
import type { Store } from '../../runtime/open-store.ts'
import { toDifferences } from '../differences.ts'
import { open } from '../terminal/open.ts'
import { no, print, printJson } from '../terminal/print.ts'
import { needId, readAction, readState } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { toAccount, toParts } from './show-execution.ts'
import { readWho, storeArguments, withStore } from './with-store.ts'

const actions = ['list', 'show', 'rerun', 'resume'] as const

export const executions = defineCommand({
  meta: {
    name: 'executions',
    description:
      'What was routed to which agent, and why: drawbridge executions [list|show|rerun|resume] [ID].',
  },
  args: {
    ...storeArguments(actions, { as: 'resume: who does so (you)' }),
    state: { type: 'string', description: `list only ${executionStates.join(', ')}` },
    intent: { type: 'string', description: 'list only this intent' },
    limit: { type: 'string', default: '100', description: 'the latest so many' },
    verify: { type: 'boolean', description: 'check that no event was changed or removed' },
    again: { type: 'boolean', description: 'rerun: even what must not happen twice' },
  },
  async run({ args }) {
    const { what, json = false } = args
    const action = readAction(actions, args.action)
    if (args.verify) return withStore(what, (store) => verify(store, json))
    if (action === 'list') return withStore(what, (store) => list(store, toWish(args)))
    const one = { what, id: needId('executions', action, args.id), json }
    switch (action) {
      case 'show':
        return withStore(what, (store) => show(store, one))
      case 'rerun':
        return rerun(one, args.again ?? false)
      case 'resume':
        return resume(one, readWho(args.as))
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
  const state = readState(executionStates, wanted)
  return {
    ...(state && { state }),
    ...(intent !== undefined && { intent }),
    limit: readLimit(limit),
    json,
  }
}

function readLimit(said: string): number {
  const limit = Number(said)
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit must be a number, not "${said}"`)
  return limit
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
    if (isSealed(begun.envelope.payload))
      return no(`The payload of ${id} is sealed with a key that is not here.`)
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

const toRow = ({ id, state, intent, version, caller, started, finished }: ExecutionSummary) =>
  `${id} ${state.padEnd(11)} ${intent} ${version} for ${caller} at ${new Date(started).toISOString()}${finished === undefined ? '' : `, ${finished - started} ms`}`
