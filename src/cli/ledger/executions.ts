import { defineCommand } from 'citty'
import { isFault } from '../../capability/fault.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import {
  type ExecutionSummary,
  executionStates,
  isSealed,
} from '../../runtime/intents/execution-history.ts'
import type { OperatorStore } from '../../runtime/store/open-store.ts'
import { descriptions } from '../descriptions.ts'
import { toDifferences } from '../differences.ts'
import { openBridge } from '../terminal/open.ts'
import { fail, print, printJson } from '../terminal/print.ts'
import { readAction, readState, requireId } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { toDetails, toReport } from './show-execution.ts'
import { checkpointsFlag, verifyChain } from './verify-chain.ts'
import { storeArguments, toOperator, withStore } from './with-store.ts'

const actions = ['list', 'show', 'rerun', 'resume'] as const

export const executions = defineCommand({
  meta: { name: 'executions', description: descriptions.executions },
  args: {
    ...storeArguments(actions, {
      id: 'id of the execution; required, except for list',
      as: 'resume: name recorded as the person who resumed it (default: your user name)',
    }),
    state: {
      type: 'string',
      description: `list: only executions in this state: ${executionStates.join(', ')}`,
    },
    intent: { type: 'string', description: 'list: only executions of this intent' },
    limit: {
      type: 'string',
      default: '100',
      description: 'list: maximum number of executions, the latest ones',
    },
    verify: {
      type: 'boolean',
      description: 'verify the hash chain: that no event was changed or removed',
    },
    checkpoints: checkpointsFlag,
    again: { type: 'boolean', description: 'rerun a call that has side effects' },
  },
  async run({ args }) {
    const { what, json = false } = args
    const action = readAction(actions, args.action)
    if (args.verify || args.checkpoints !== undefined)
      return withStore(what, (store) =>
        verifyChain(store, { chain: 'execution_events', file: args.checkpoints, json }),
      )
    if (action === 'list') return withStore(what, (store) => list(store, args))
    const target = { what, id: requireId('executions', action, args.id), json }
    switch (action) {
      case 'show':
        return withStore(what, (store) => show(store, target))
      case 'rerun':
        return rerun(target, args.again ?? false)
      case 'resume':
        return resume(target, toOperator(args.as))
    }
  },
})

interface Target {
  readonly what: string
  readonly id: string
  readonly json: boolean
}

interface ListFlags {
  readonly state?: string | undefined
  readonly intent?: string | undefined
  readonly limit: string
  readonly json?: boolean | undefined
}

function list(
  { executions }: OperatorStore,
  { state, intent, limit, json = false }: ListFlags,
): number {
  const summaries = executions.list({
    ...dropUndefined({ state: readState(executionStates, state), intent }),
    limit: readLimit(limit),
  })
  if (json) printJson(summaries)
  else for (const one of summaries) print(toRow(one))
  return 0
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit must be a positive integer, not "${text}"`)
  return limit
}

function show({ executions }: OperatorStore, { id, json }: Target): number {
  const execution = executions.find(id)
  if (!execution) return fail(`There is no execution ${id}.`)
  if (json) printJson({ ...toDetails(execution), events: execution.events })
  else for (const line of toReport(execution)) print(line)
  return 0
}

/** Makes the same call again, governed like any other, and compares both results. */
async function rerun({ what, id, json }: Target, again: boolean): Promise<number> {
  const { bridge } = await openBridge(what)
  try {
    const original = bridge.executions.find(id)
    const beginning = original?.events.find((event) => event.event === 'begun')
    if (!original || !beginning) return fail(`There is no execution ${id}.`)
    if (isSealed(beginning.envelope.payload))
      return fail(`The payload of ${id} is sealed with a key that is not configured.`)
    if (beginning.effects.writes && !beginning.effects.repeatable && !again)
      return fail(
        `${beginning.address} would take effect a second time. To allow that, add --again.`,
      )
    const [mount, name] = beginning.address.startsWith('/')
      ? beginning.address.split(' ', 2)
      : ['/mcp', beginning.address]
    const result = await bridge.call(
      name ?? '',
      beginning.envelope.payload,
      dropUndefined({ mount }),
    )
    const rerunId = String(result._meta?.['dev.drawbridge/call-id'])
    const repetition = bridge.executions.find(rerunId)
    if (!repetition) return fail(`The call was not routed: ${JSON.stringify(result.content)}`)
    const differences = toDifferences(toDetails(original).result, toDetails(repetition).result)
    if (json) printJson({ id: rerunId, former: id, differences })
    else {
      print(`${rerunId} is ${repetition.state}; ${id} was ${original.state}.`)
      if (differences.length === 0) print('The results are the same.')
      for (const { pointer, former, present } of differences)
        print(`${pointer} was ${JSON.stringify(former)}, is ${JSON.stringify(present)}`)
    }
    return differences.length === 0 ? 0 : 1
  } finally {
    await bridge.close()
  }
}

async function resume({ what, id, json }: Target, by: string): Promise<number> {
  const { bridge } = await openBridge(what)
  try {
    const resumed = await bridge.resume(id, by)
    if (isFault(resumed)) return fail(resumed.fault)
    if (json) printJson(toDetails(resumed.execution))
    else for (const line of toReport(resumed.execution)) print(line)
    return resumed.execution.state === 'done' ? 0 : 1
  } finally {
    await bridge.close()
  }
}

const toRow = ({ id, state, intent, version, caller, started, finished }: ExecutionSummary) =>
  `${id} ${state.padEnd(11)} ${intent} ${version} for ${caller} at ${new Date(started).toISOString()}${finished === undefined ? '' : `, ${finished - started} ms`}`
