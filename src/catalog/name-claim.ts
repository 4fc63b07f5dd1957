import type { Capability, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { toFingerprint } from './fingerprint.ts'
import { type Naming, toServedName } from './served-name.ts'
import type { Entry, Refine } from './snapshot.ts'

/** A capability that wants to be found by a name or an address. */
export interface NameClaim<T extends Capability> {
  /** Absent when it cannot be found by anything. */
  readonly key?: string
  /** Absent when it cannot be served. */
  readonly entry?: Entry<T>
  readonly capability: T
  readonly diagnostics: readonly Diagnostic[]
}

export interface Terms {
  readonly prefix?: string
  readonly naming: Naming
  readonly refine: Refine
}

export function toNamedClaim<T extends Capability>(capability: T, terms: Terms): NameClaim<T> {
  const renamed = rename(capability, terms)
  return renamed.capability
    ? toClaim(renamed.capability.name, terms.refine(renamed.capability), renamed.diagnostics)
    : { capability, diagnostics: renamed.diagnostics }
}

export const toAddressedClaim = (view: View, { refine }: Terms): NameClaim<View> =>
  toClaim(view.uri, refine(view), [])

function toClaim<T extends Capability>(
  key: string,
  capability: T,
  diagnostics: readonly Diagnostic[],
): NameClaim<T> {
  const fingerprint = findFingerprint(capability)
  if (fingerprint !== undefined)
    return { key, capability, entry: Object.freeze({ capability, fingerprint }), diagnostics }
  const message = `${JSON.stringify(key)} is left out: it has text or numbers that JSON has no form for.`
  const unusable = { code: 'definition_unusable', severity: 'error', message } as const
  return { key, capability, diagnostics: [...diagnostics, { ...unusable, ...capability.origin }] }
}

function rename<T extends Capability>(
  capability: T,
  { prefix, naming }: Terms,
): { capability?: T; diagnostics: readonly Diagnostic[] } {
  const { portableName, origin: at } = capability
  const own = naming === 'portable' && portableName !== undefined ? portableName : capability.name
  const declared = prefix === undefined ? own : `${prefix}_${own}`
  const served = toServedName(declared, naming)
  if ('fault' in served) {
    const message = `${JSON.stringify(declared)} is left out: ${served.fault}.`
    return { diagnostics: [{ code: 'name_unusable', severity: 'error', message, ...at }] }
  }
  if (served.name === capability.name) return { capability, diagnostics: [] }
  const origin = { ...at, name: capability.name }
  const renamed = Object.freeze({ ...capability, name: served.name, origin })
  if (served.name === declared) return { capability: renamed, diagnostics: [] }
  const message = `${JSON.stringify(declared)} is served as ${served.name}: some hosts refuse a whole list for one such name. "names: literal" keeps it.`
  const diagnostic = { code: 'name_rewritten', severity: 'warning', message, ...at } as const
  return { capability: renamed, diagnostics: [diagnostic] }
}

function findFingerprint(capability: Capability): string | undefined {
  try {
    return toFingerprint(capability)
  } catch {
    return undefined
  }
}
