import type { Capability, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { isFault } from '../capability/fault.ts'
import { toFingerprint } from './fingerprint.ts'
import { toLookAlike } from './look-alike.ts'
import { type Naming, toServedName } from './served-name.ts'
import type { Entry, Refine } from './snapshot.ts'
import { type ServedTexts, serveTexts, type TextPolicy } from './text/serve-texts.ts'

/** A capability's claim to a key: its served name, or the URI of a view. */
export interface NameClaim<T extends Capability> {
  /** Absent when its name cannot be served. */
  readonly key?: string
  /** Equal for names that can be mistaken for each other. */
  readonly lookAlike?: string
  /** Absent when its definition cannot be served. */
  readonly entry?: Entry<T>
  readonly capability: T
  readonly diagnostics: readonly Diagnostic[]
}

export interface ClaimOptions {
  readonly prefix?: string
  readonly naming: Naming
  readonly refine: Refine
  readonly text: TextPolicy
}

export function toNamedClaim<T extends Capability>(
  capability: T,
  options: ClaimOptions,
): NameClaim<T> {
  const { served, diagnostics } = tryServeTexts(capability, options)
  if (!served) return { capability, diagnostics }
  const renaming = rename(served, options)
  const allDiagnostics = [...diagnostics, ...renaming.diagnostics]
  if (!renaming.capability) return { capability, diagnostics: allDiagnostics }
  const { name, origin } = renaming.capability
  const claim = toClaim(name, options.refine(renaming.capability), allDiagnostics)
  return { ...claim, lookAlike: toLookAlike(toDeclaredName(origin.name ?? name, options)) }
}

export function toAddressedClaim(view: View, options: ClaimOptions): NameClaim<View> {
  const { served, diagnostics } = tryServeTexts(view, options)
  return served
    ? toClaim(served.uri, options.refine(served), diagnostics)
    : { capability: view, diagnostics }
}

function tryServeTexts<T extends Capability>(
  capability: T,
  { text }: ClaimOptions,
): ServedTexts<T> {
  try {
    return serveTexts(capability, text)
  } catch {
    return { diagnostics: [toUnusable(capability.name, capability)] }
  }
}

function toClaim<T extends Capability>(
  key: string,
  capability: T,
  diagnostics: readonly Diagnostic[],
): NameClaim<T> {
  const fingerprint = tryFingerprint(capability)
  return fingerprint === undefined
    ? { key, capability, diagnostics: [...diagnostics, toUnusable(key, capability)] }
    : { key, capability, entry: Object.freeze({ capability, fingerprint }), diagnostics }
}

function toUnusable(key: string, { origin }: Capability): Diagnostic {
  const message = `${JSON.stringify(key)} is left out: its definition contains text or numbers without a JSON representation.`
  return { code: 'definition_unusable', severity: 'error', message, ...origin }
}

const toDeclaredName = (name: string, { prefix }: ClaimOptions): string =>
  prefix === undefined ? name : `${prefix}_${name}`

function rename<T extends Capability>(
  capability: T,
  options: ClaimOptions,
): { capability?: T; diagnostics: readonly Diagnostic[] } {
  const { naming } = options
  const { portableName, origin: declaredAt } = capability
  const baseName =
    naming === 'portable' && portableName !== undefined ? portableName : capability.name
  const declaredName = toDeclaredName(baseName, options)
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
