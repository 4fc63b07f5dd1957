import type { Call } from '../../capability/call.ts'
import type { Issue, Parsed } from '../../capability/contract.ts'
import { isPlainObject } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import { findDigest } from '../digest.ts'
import { refused } from '../failures.ts'
import type { Check, Verdict } from './check.ts'

/** The argument under which a model can give a key; never seen by the capability. */
export const keyArgument = 'idempotency_key'

export const checkInput: Check = {
  name: 'input',
  decide(call) {
    const keyed = takeKey(call)
    if (isRemembered(keyed) && findDigest(keyed) === undefined) return { ends: unwritable(keyed) }
    const parsed = keyed.capability.input.parse(keyed.input)
    return parsed instanceof Promise
      ? parsed.then((one) => toVerdict(keyed, one))
      : toVerdict(keyed, parsed)
  },
}

/** Only where the served schema declares the argument; elsewhere it is the capability's own. */
function takeKey(call: Call): Call {
  const { capability, input, key, transportKey } = call
  const declared =
    capability.rules.idempotencyKey && isPlainObject(input) && Object.hasOwn(input, keyArgument)
  if (!declared) return key === transportKey ? call : { ...call, key: key ?? transportKey }
  const { [keyArgument]: argument, ...rest } = input
  const usable = typeof argument === 'string' && argument !== '' ? argument : undefined
  return { ...call, input: rest, given: rest, key: key ?? usable ?? transportKey }
}

/** Whether something will be kept under these very arguments. */
const isRemembered = ({ capability: { effects, rules } }: Call): boolean =>
  effects.writes || rules.approval || rules.budgets.length > 0

/** What cannot be written down the same way twice can be neither approved nor recognised. */
function unwritable({ capability }: Call): Failed {
  const message = `The arguments of ${capability.name} contain half a character or a number that is too large. Correct them and call again.`
  return refused('invalid_input', message, { retryable: true })
}

function toVerdict(call: Call, parsed: Parsed): Verdict {
  if (parsed.ok) return { passes: { ...call, input: parsed.value } }
  const issues = parsed.issues.slice(0, mostIssues).map(toBrief)
  const unsaid = parsed.issues.length - issues.length
  const message = [
    `The arguments of ${call.capability.name} are not valid. Correct them and call again.`,
    ...issues.map(toLine),
    ...(unsaid > 0 ? [`… and ${unsaid} more.`] : []),
  ].join('\n')
  const details = { issues: issues.map(({ pointer, message }) => ({ pointer, message })) }
  return { ends: refused('invalid_input', message, { details, retryable: true }) }
}

const mostIssues = 20
const longest = 500

/** A client may name a property with a megabyte; nobody has to read it back. */
const toBrief = ({ pointer, message }: Issue): Issue => ({
  pointer: cut(pointer),
  message: cut(message),
})

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)

const toLine = ({ pointer, message }: Issue): string => `- ${pointer || '(arguments)'}: ${message}`
