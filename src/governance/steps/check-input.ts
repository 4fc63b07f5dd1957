import type { Call } from '../../capability/call.ts'
import type { Issue, Parsed } from '../../capability/contract.ts'
import type { Failed } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { tryDigestArguments } from '../digest.ts'
import { refused } from '../failures.ts'
import type { Check, Verdict } from './check.ts'

/** The argument that carries the idempotency key; removed before the capability sees the input. */
export const keyArgument = 'idempotency_key'

/** Takes the idempotency key out of the arguments and validates the rest. */
export const checkInput: Check = {
  name: 'input',
  enforcedWhenObserving: true,
  decide(call) {
    const keyedCall = extractKey(call)
    if (needsDigest(keyedCall) && tryDigestArguments(keyedCall) === undefined)
      return { ends: notCanonical(keyedCall) }
    const parsed = keyedCall.capability.input.parse(keyedCall.input)
    return parsed instanceof Promise
      ? parsed.then((result) => toVerdict(keyedCall, result))
      : toVerdict(keyedCall, parsed)
  },
}

/** The argument is ours only if the served schema declares it; else it is the capability's own. */
function extractKey(call: Call): Call {
  const { capability, input, idempotencyKey, transportKey } = call
  const isDeclared =
    capability.rules.idempotencyKey && isPlainObject(input) && Object.hasOwn(input, keyArgument)
  if (!isDeclared)
    return idempotencyKey === transportKey
      ? call
      : { ...call, idempotencyKey: idempotencyKey ?? transportKey }
  const { [keyArgument]: argument, ...rest } = input
  const argumentKey = typeof argument === 'string' && argument !== '' ? argument : undefined
  return {
    ...call,
    input: rest,
    rawInput: rest,
    idempotencyKey: idempotencyKey ?? argumentKey ?? transportKey,
  }
}

/** True when the ledger will store something under the digest of the arguments. */
const needsDigest = ({ capability: { effects, rules } }: Call): boolean =>
  effects.writes || rules.approval || rules.budgets.length > 0

/** Arguments without a canonical form (RFC 8785) cannot be recognised again, nor approved. */
function notCanonical({ capability }: Call): Failed {
  const message = `The arguments of ${capability.name} contain an unpaired surrogate or a number that is out of range. Correct them and call again.`
  return refused('invalid_input', message, { retryable: true })
}

function toVerdict(call: Call, parsed: Parsed): Verdict {
  if (parsed.ok)
    return { passes: parsed.value === call.input ? call : { ...call, input: parsed.value } }
  const issues = parsed.issues.slice(0, maxIssues).map(truncateIssue)
  const omittedCount = parsed.issues.length - issues.length
  const message = [
    `The arguments of ${call.capability.name} are not valid. Correct them and call again.`,
    ...issues.map(toLine),
    ...(omittedCount > 0 ? [`… and ${omittedCount} more.`] : []),
  ].join('\n')
  const details = { issues: issues.map(({ pointer, message }) => ({ pointer, message })) }
  return { ends: refused('invalid_input', message, { details, retryable: true }) }
}

const maxIssues = 20
const maxTextLength = 500

/** Property names come from the client, and may be a megabyte long. */
const truncateIssue = ({ pointer, message }: Issue): Issue => ({
  pointer: truncate(pointer),
  message: truncate(message),
})

const truncate = (text: string): string =>
  text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text

const toLine = ({ pointer, message }: Issue): string => `- ${pointer || '(arguments)'}: ${message}`
