import type { Capability, Prompt, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { About, Reading } from '../capability/source.ts'

/** Everything one mount offers at one moment, sorted by name. */
export interface Snapshot {
  /** Tools by served name. */
  readonly capabilities: ReadonlyMap<string, Entry<Capability>>
  /** Views by URI. */
  readonly views: ReadonlyMap<string, Entry<View>>
  /** Views whose URI is a template. */
  readonly templates: readonly Entry<View>[]
  /** Prompts by served name. */
  readonly prompts: ReadonlyMap<string, Entry<Prompt>>
  /** Problems of the sources, and of names that collide. */
  readonly diagnostics: readonly Diagnostic[]
  /** Descriptions of the sources, in configuration order. */
  readonly abouts: readonly About[]
  /** The sources as a whole, in configuration order. */
  readonly sources: readonly SourceSummary[]
}

/** What a source says about itself, besides what it offers. */
export interface SourceSummary extends Pick<Reading, 'about' | 'surface' | 'positionOf'> {
  /** Id of the source. */
  readonly id: string
}

/** A served capability. Keeps its identity for as long as the source offers the same object. */
export interface Entry<T extends Capability> {
  /** The capability under its served name, with the operator's policy merged into its rules. */
  readonly capability: T
  /** Digest of the definition, the destination and the code: changes whenever one of them does. */
  readonly fingerprint: string
}

/** Applies the operator's policy to a capability. */
export type Refine = <T extends Capability>(capability: T) => T
