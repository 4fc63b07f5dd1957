import type { Capability, Prompt, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { About } from '../capability/source.ts'

/** Everything one mount offers at one moment, sorted by name. */
export interface Snapshot {
  readonly capabilities: ReadonlyMap<string, Entry<Capability>>
  readonly views: ReadonlyMap<string, Entry<View>>
  /** Views whose URI is a template. */
  readonly templates: readonly Entry<View>[]
  readonly prompts: ReadonlyMap<string, Entry<Prompt>>
  readonly diagnostics: readonly Diagnostic[]
  /** Descriptions of the sources, in configuration order. */
  readonly abouts: readonly About[]
}

/** Keeps its identity for as long as the source offers the same object. */
export interface Entry<T extends Capability> {
  readonly capability: T
  readonly fingerprint: string
}

/** Applies the operator's policy to a capability. */
export type Refine = <T extends Capability>(capability: T) => T
