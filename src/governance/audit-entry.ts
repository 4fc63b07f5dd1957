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
 * entry, with the part that all calls of a capability share worded once.
 */
export function toEndText(
  call: AuditedCall,
  at: number,
  { kind, code, duration }: CallEnd,
): string {
  const { id, caller, capability, fingerprint, rawInput } = call
  const { decisions, cost } = call.auditTrail
  const digest = tryDigestArguments(call)
  let text = `{"event":"end","at":${at},"id":${JSON.stringify(id)},"caller":${JSON.stringify(caller.subject)},${toDefinitionText(capability, fingerprint)}`
  if (digest !== undefined) text += `,"digest":"${digest}"`
  if (capability.rules.recordArguments) text += toMember('arguments', rawInput)
  if (decisions.length > 0) text += toMember('decisions', decisions)
  text += `,"outcome":"${kind}"`
  if (code !== undefined) text += toMember('code', code)
  text += `,"duration":${duration}`
  if (cost !== undefined) text += toMember('cost', cost)
  return `${text}}`
}

/** Absent like in `JSON.stringify` if the value is not JSON. */
function toMember(name: string, value: unknown): string {
  const text = JSON.stringify(value)
  return text === undefined ? '' : `,"${name}":${text}`
}

const definitionTexts = new WeakMap<Capability, { fingerprint: string; text: string }>()

function toDefinitionText(capability: Capability, fingerprint: string): string {
  const known = definitionTexts.get(capability)
  if (known?.fingerprint === fingerprint) return known.text
  const { name, origin } = capability
  const json = JSON.stringify({ capability: name, source: origin.source, fingerprint })
  const text = json.slice(1, -1)
  definitionTexts.set(capability, { fingerprint, text })
  return text
}
