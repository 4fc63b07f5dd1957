import { defineCommand } from 'citty'
import type { OperatorStore } from '../../runtime/store/open-store.ts'
import { descriptions } from '../descriptions.ts'
import { jsonFlag } from '../terminal/flags.ts'
import { print, printJson } from '../terminal/print.ts'
import { readAction } from '../terminal/read-arguments.ts'
import { toOperator, withStore } from './with-store.ts'

const actions = ['show', 'confirm'] as const

export const clock = defineCommand({
  meta: { name: 'clock', description: descriptions.clock },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'show',
      description: actions.join(', '),
    },
    what: { type: 'string', default: '.', description: 'the configuration whose store is used' },
    as: { type: 'string', description: 'confirm: name recorded (default: your user name)' },
    json: jsonFlag,
  },
  async run({ args: { action: word, what, as, json = false } }) {
    const action = readAction(actions, word)
    return withStore(what, (store) =>
      action === 'show' ? show(store, json) : confirm(store, toOperator(as), json),
    )
  },
})

/** The exit code is 1 while calls are refused. */
function show({ clock }: OperatorStore, json: boolean): number {
  const { driftMs } = clock
  const isUncertain = clock.findDoubt() !== undefined
  const item = {
    id: 'clock',
    state: isUncertain ? 'uncertain' : 'ok',
    ledger: new Date(clock.calendarNow()).toISOString(),
    seconds_ahead: Math.round(driftMs / 1000),
  }
  if (json) printJson(item)
  else
    print(
      `The ledger's clock says ${item.ledger}, the system clock is ${item.seconds_ahead} s ahead: ${isUncertain ? 'calls that depend on time are refused' : 'ok'}.`,
    )
  return isUncertain ? 1 : 0
}

async function confirm({ clock }: OperatorStore, by: string, json: boolean): Promise<number> {
  const seconds = Math.round((await clock.confirm(by)) / 1000)
  if (json) printJson({ id: 'clock', state: 'ok', confirmed_seconds: seconds })
  else if (seconds === 0) print('The clocks agree: there is nothing to confirm.')
  else
    print(
      `Confirmed by ${by}: the date moves by ${seconds} s. What has expired stays expired, and keys are remembered as if this time had not passed.`,
    )
  return 0
}
