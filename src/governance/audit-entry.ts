import type { Caller } from '../capability/caller.ts'
import type { Capability } from '../capability/capability.ts'
import type { Outcome } from '../capability/outcome.ts'
import { type Digestible, tryDigestArguments } from './digest.ts'
import type { AuditEntry } from './ledger.ts'

/** The part of a call that its audit entries are made of. */
export interface AuditedCall extends Digestible {
  readonly id: string
  readonly caller: Caller
  readonly capability: Capability
  readonly fingerprint: string
}

export interface CallEnd {
  readonly kind: Outcome['kind']
  /** Failure code of a failed call. */
  readonly code: string | undefined
  /** Duration in milliseconds. */
  readonly duration: number
}

/** Written in the same transaction as the run it belongs to. */
export function toBeginEntry(call: AuditedCall, at: number): AuditEntry {
  const { id, caller, capability, fingerprint, rawInput } = call
  const { decisions } = call.auditTrail
  const digest = tryDigestArguments(call)
  return {
    event: 'begin',
    at,
    id,
    caller: caller.subject,
    capability: capability.name,
    source: capability.origin.source,
    fingerprint,
    ...(digest !== undefined && { digest }),
    ...(capability.rules.recordArguments && { arguments: rawInput }),
    ...(decisions.length > 0 && { decisions }),
  }
}

/**
 * The entry of every call that ends, as JSON. Hot path: the text that `JSON.stringify` would make of the same
 * entry, with the part that all calls of a capability share worded once. Joined, because entries wait for
 * their commit: the garbage collector copies one flat string faster than the pieces of a concatenated one.
 */
export function toEndText(call: AuditedCall, at: number, end: CallEnd): string {
  const { id, caller, capability, fingerprint, rawInput } = call
  const { decisions, cost } = call.auditTrail
  const { recordArguments } = capability.rules
  const { kind, code, duration } = end
  const digest = tryDigestArguments(call)
  return [
    `{"event":"end","at":${at}`,
    `,"id":${JSON.stringify(id)},"caller":${JSON.stringify(caller.subject)}`,
    toDefinitionText(capability, fingerprint),
    digest === undefined ? '' : `,"digest":"${digest}"`,
    recordArguments ? toMember('arguments', rawInput) : '',
    decisions.length > 0 ? toMember('decisions', decisions) : '',
    `,"outcome":"${kind}"`,
    toMember('code', code),
    `,"duration":${duration}`,
    toMember('cost', cost),
    '}',
  ].join('')
}

/** Empty for a value that JSON does not have, which `JSON.stringify` leaves out too. */
function toMember(name: string, value: unknown): string {
  const text = value === undefined ? undefined : toJson(value)
  return text === undefined ? '' : `,"${name}":${text}`
}

/** `undefined` also for what `JSON.stringify` refuses: a bigint, or a value that is nested too deeply. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const definitionTexts = new WeakMap<Capability, { fingerprint: string; text: string }>()

function toDefinitionText(capability: Capability, fingerprint: string): string {
  const known = definitionTexts.get(capability)
  if (known?.fingerprint === fingerprint) return known.text
  const { name, origin } = capability
  const json = JSON.stringify({ capability: name, source: origin.source, fingerprint })
  const text = `,${json.slice(1, -1)}`
  definitionTexts.set(capability, { fingerprint, text })
  return text
}
