import type { Call } from './call.ts'
import type { Contract } from './contract.ts'
import type { Effects } from './effects.ts'
import type { JsonObject } from './json.ts'
import type { Outcome } from './outcome.ts'
import type { Rules } from './rules.ts'

/** Where a capability was declared: for diagnostics, audit and `explain`. */
export interface Origin {
  /** The source's id, as the operator named it. */
  readonly source: string
  /** JSON pointer into that source. */
  readonly pointer: string
  /** Its name there, where the served one had to differ. */
  readonly name?: string
}

/** Something a client can call, whatever kind of source it came from. */
export interface Capability {
  readonly name: string
  /** The same for hosts that know no dots; its source vouches for it, so nobody is warned. */
  readonly portableName?: string
  readonly title?: string
  /** The routing contract the model reads: copied whole, never shortened. */
  readonly description: string
  readonly input: Contract
  readonly output?: Contract
  readonly effects: Effects
  readonly rules: Rules
  readonly origin: Origin
  /** Fields that only travel with the capability; nothing here is enforced. */
  readonly extras: JsonObject
  /** Callable by those who know it, but shown to nobody. */
  readonly hidden?: boolean
  invoke(call: Call): Promise<Outcome>
}

/** Something readable at an address: a state, a document. Reading it is a call like any other. */
export interface View extends Capability {
  /** A URI, or an RFC 6570 template whose variables are the input. */
  readonly uri: string
  readonly mimeType?: string
  readonly completion?: Capability
}

/** A conversation a person can start from. Rendering it is a call like any other. */
export interface Prompt extends Capability {
  readonly parameters: readonly PromptParameter[]
  readonly completion?: Capability
}

export interface PromptParameter {
  readonly name: string
  readonly description?: string
  readonly required: boolean
}
