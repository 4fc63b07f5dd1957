import type { Capability, Prompt, View } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { About } from '../capability/source.ts'

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

/** The same object for as long as its source offers the same one. */
export interface Entry<T extends Capability> {
  readonly capability: T
  readonly fingerprint: string
}

/** Adds to a capability what the operator wants of it. */
export type Refine = <T extends Capability>(capability: T) => T
