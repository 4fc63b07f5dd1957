import type { Call } from '../../capability/call.ts'
import type { Issue, Parsed } from '../../capability/contract.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { tryDigestArguments } from '../digest.ts'
import { refused } from '../failures.ts'
import { keyArgument, toKeyArgument } from '../key-argument.ts'
import { toKeyValue } from '../key-form.ts'
import type { Check, Verdict } from './check.ts'

/** Finds the idempotency key and validates the arguments. */
export const checkInput: Check = {
  name: 'input',
  enforcedWhenObserving: true,
  decide(call) {
    const keyedCall = extractKey(call)
    if (isFailed(keyedCall)) return { ends: keyedCall }
    if (needsDigest(keyedCall) && tryDigestArguments(keyedCall) === undefined)
      return { ends: notCanonical(keyedCall) }
    const parsed = keyedCall.capability.input.parse(keyedCall.input)
    return parsed instanceof Promise
      ? parsed.then((result) => toVerdict(keyedCall, result))
      : toVerdict(keyedCall, parsed)
  },
}

/** Takes the key from the request's metadata, the argument or the transport. Refuses two different ones. */
function extractKey(call: Call): Call | Failed {
  const { capability, idempotencyKey, transportKey } = call
  const owner = toKeyArgument(capability)
  const input = owner !== 'none' && isPlainObject(call.input) ? call.input : undefined
  const argument = input && Object.hasOwn(input, keyArgument) ? input[keyArgument] : undefined
  const argumentKey = toKey(argument)
  const key = idempotencyKey ?? argumentKey ?? transportKey
  if (capability.effects.writes && hasConflict(key, [argumentKey, transportKey]))
    return keyConflict(call, argumentKey)
  if (input === undefined) return key === idempotencyKey ? call : { ...call, idempotencyKey: key }
  const { [keyArgument]: _, ...rest } = input
  // Digests leave the key out, so that a repeat under another key is recognised.
  const keyedCall = { ...call, rawInput: rest, idempotencyKey: key }
  if (owner === 'added') return { ...keyedCall, input: rest }
  const isFilled = owner === 'own' && argument === undefined && key !== undefined
  return isFilled
    ? {
        ...keyedCall,
        input: { ...rest, [keyArgument]: toKeyValue({ capability, input: rest }, key) },
      }
    : keyedCall
}

/** Own keys may be declared as numbers. */
const toKey = (argument: unknown): string | undefined =>
  typeof argument === 'number' || (typeof argument === 'string' && argument !== '')
    ? String(argument)
    : undefined

const hasConflict = (key: string | undefined, others: readonly (string | undefined)[]): boolean =>
  others.some((other) => other !== undefined && other !== key)

function keyConflict(
  { capability, idempotencyKey, transportKey }: Call,
  argumentKey: string | undefined,
): Failed {
  const places = [
    idempotencyKey === undefined ? undefined : 'the metadata of the request',
    argumentKey === undefined ? undefined : `the argument ${keyArgument}`,
    transportKey === undefined ? undefined : 'the header Idempotency-Key',
  ].filter((place) => place !== undefined)
  const message = `The call of ${capability.name} has different idempotency keys in ${places.join(' and ')}. Nothing was executed. Send one of them, or the same key everywhere.`
  return refused('idempotency_conflict', message, { retryable: true })
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
