import type { Capability, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { isFault } from '../capability/fault.ts'
import { toFingerprint } from './fingerprint.ts'
import { type Naming, toServedName } from './served-name.ts'
import type { Entry, Refine } from './snapshot.ts'

/** A capability's claim to a key: its served name, or the URI of a view. */
export interface NameClaim<T extends Capability> {
  /** Absent when its name cannot be served. */
  readonly key?: string
  /** Absent when its definition cannot be served. */
  readonly entry?: Entry<T>
  readonly capability: T
  readonly diagnostics: readonly Diagnostic[]
}

export interface ClaimOptions {
  readonly prefix?: string
  readonly naming: Naming
  readonly refine: Refine
}

export function toNamedClaim<T extends Capability>(
  capability: T,
  options: ClaimOptions,
): NameClaim<T> {
  const { capability: renamed, diagnostics } = rename(capability, options)
  return renamed
    ? toClaim(renamed.name, options.refine(renamed), diagnostics)
    : { capability, diagnostics }
}

export const toAddressedClaim = (view: View, { refine }: ClaimOptions): NameClaim<View> =>
  toClaim(view.uri, refine(view), [])

function toClaim<T extends Capability>(
  key: string,
  capability: T,
  diagnostics: readonly Diagnostic[],
): NameClaim<T> {
  const fingerprint = tryFingerprint(capability)
  if (fingerprint !== undefined)
    return { key, capability, entry: Object.freeze({ capability, fingerprint }), diagnostics }
  const message = `${JSON.stringify(key)} is left out: its definition contains text or numbers without a JSON representation.`
  const diagnostic = { code: 'definition_unusable', severity: 'error', message } as const
  return { key, capability, diagnostics: [...diagnostics, { ...diagnostic, ...capability.origin }] }
}

function rename<T extends Capability>(
  capability: T,
  { prefix, naming }: ClaimOptions,
): { capability?: T; diagnostics: readonly Diagnostic[] } {
  const { portableName, origin: declaredAt } = capability
  const baseName =
    naming === 'portable' && portableName !== undefined ? portableName : capability.name
  const declaredName = prefix === undefined ? baseName : `${prefix}_${baseName}`
  const reading = toServedName(declaredName, naming)
  if (isFault(reading)) {
    const message = `${JSON.stringify(declaredName)} is left out: ${reading.fault}.`
    return { diagnostics: [{ code: 'name_unusable', severity: 'error', message, ...declaredAt }] }
  }
  const { name } = reading
  if (name === capability.name) return { capability, diagnostics: [] }
  const origin = { ...declaredAt, name: capability.name }
  const renamed = Object.freeze({ ...capability, name, origin })
  if (name === declaredName) return { capability: renamed, diagnostics: [] }
  const message = `${JSON.stringify(declaredName)} is served as ${name}: some hosts reject the whole tool list because of one such name. Set "names: literal" to keep it.`
  const diagnostic = {
    code: 'name_rewritten',
    severity: 'warning',
    message,
    ...declaredAt,
  } as const
  return { capability: renamed, diagnostics: [diagnostic] }
}

function tryFingerprint(capability: Capability): string | undefined {
  try {
    return toFingerprint(capability)
  } catch {
    return undefined
  }
}
