import type { Capability, Prompt, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { byCodePoint } from '../capability/json.ts'
import type { About, Reading } from '../capability/source.ts'
import { toFingerprint } from './fingerprint.ts'
import { type Naming, toServedName } from './served-name.ts'

/** Everything one mount offers at one moment, in code-point order of names. */
export interface Snapshot {
  readonly capabilities: ReadonlyMap<string, Entry<Capability>>
  readonly views: ReadonlyMap<string, Entry<View>>
  /** Views whose URI is a template. */
  readonly templates: readonly Entry<View>[]
  readonly prompts: ReadonlyMap<string, Entry<Prompt>>
  readonly diagnostics: readonly Diagnostic[]
  /** What sources say of themselves, in the order of the configuration. */
  readonly abouts: readonly About[]
}

export interface Entry<T extends Capability> {
  readonly capability: T
  readonly fingerprint: string
}

/** A source's reading, and how the operator wants its names. */
export interface NamedReading {
  readonly source: string
  readonly prefix?: string
  readonly reading: Reading
}

/** Adds to a capability what the operator wants of it. */
export type Refine = <T extends Capability>(capability: T) => T

export function toSnapshot(
  readings: readonly NamedReading[],
  naming: Naming,
  refine: Refine,
): Snapshot {
  const diagnostics: Diagnostic[] = readings.flatMap(({ reading }) => reading.diagnostics ?? [])
  const collect = <T extends Capability>(pick: (reading: Reading) => readonly T[]): T[] =>
    readings.flatMap(({ prefix, reading }) =>
      pick(reading)
        .flatMap((capability) => rename(capability, prefix, naming, diagnostics))
        .map(refine),
    )
  const views = readings.flatMap(({ reading }) => reading.views ?? []).map(refine)
  const isTemplate = (view: View) => view.uri.includes('{')
  const byName = (capability: Capability) => capability.name
  return Object.freeze({
    capabilities: unique(
      collect((reading) => reading.capabilities),
      byName,
      diagnostics,
    ),
    prompts: unique(
      collect((reading) => reading.prompts ?? []),
      byName,
      diagnostics,
    ),
    views: unique(
      views.filter((view) => !isTemplate(view)),
      (view) => view.uri,
      diagnostics,
    ),
    templates: [...unique(views.filter(isTemplate), (view) => view.uri, diagnostics).values()],
    diagnostics,
    abouts: readings.flatMap(({ reading }) => reading.about ?? []),
  })
}

function rename<T extends Capability>(
  capability: T,
  prefix: string | undefined,
  naming: Naming,
  diagnostics: Diagnostic[],
): readonly T[] {
  const declared = prefix === undefined ? capability.name : `${prefix}_${capability.name}`
  const served = toServedName(declared, naming)
  const at = capability.origin
  if ('fault' in served) {
    const message = `${JSON.stringify(declared)} is left out: ${served.fault}.`
    diagnostics.push({ code: 'name_unusable', severity: 'error', message, ...at })
    return []
  }
  if (served.name === capability.name) return [capability]
  if (served.name !== declared) {
    const message = `${JSON.stringify(declared)} is served as ${served.name}: some hosts refuse a whole list for one such name. "names: literal" keeps it.`
    diagnostics.push({ code: 'name_rewritten', severity: 'warning', message, ...at })
  }
  const origin = { ...at, name: capability.name }
  return [Object.freeze({ ...capability, name: served.name, origin })]
}

/** Where two end with one name, neither silently wins: both are left out, and both are named. */
function unique<T extends Capability>(
  capabilities: readonly T[],
  toKey: (capability: T) => string,
  diagnostics: Diagnostic[],
): ReadonlyMap<string, Entry<T>> {
  const groups = new Map<string, T[]>()
  for (const capability of capabilities) {
    const key = toKey(capability)
    const group = groups.get(key)
    if (group) group.push(capability)
    else groups.set(key, [capability])
  }
  const entries: [string, Entry<T>][] = []
  for (const [key, group] of [...groups].sort(([a], [b]) => byCodePoint(a, b))) {
    const [first, ...others] = group as [T, ...T[]]
    if (others.length === 0) {
      const fingerprint = findFingerprint(first)
      if (fingerprint !== undefined) entries.push([key, { capability: first, fingerprint }])
      else {
        const message = `${JSON.stringify(key)} is left out: it has text or numbers that JSON has no form for.`
        diagnostics.push({
          code: 'definition_unusable',
          severity: 'error',
          message,
          ...first.origin,
        })
      }
      continue
    }
    const places = group.map(({ origin }) => `${origin.source}#${origin.pointer}`).join(' and ')
    for (const { origin } of group) {
      const message = `${key} is declared by ${places}; none of them is served. Rename one, or give a source a prefix.`
      diagnostics.push({ code: 'name_collision', severity: 'error', message, ...origin })
    }
  }
  return new Map(entries)
}

function findFingerprint(capability: Capability): string | undefined {
  try {
    return toFingerprint(capability)
  } catch {
    return undefined
  }
}
