import type { Call } from './call.ts'
import type { Contract } from './contract.ts'
import type { Effects } from './effects.ts'
import type { JsonObject } from './json.ts'
import type { Outcome } from './outcome.ts'
import type { Rules } from './rules.ts'

/** The place of declaration, for diagnostics, audit and `explain`. */
export interface Origin {
  /** The source's id from the configuration. */
  readonly source: string
  /** JSON pointer into that source. */
  readonly pointer: string
  /** The declared name, when the served name differs. */
  readonly name?: string
}

/** Something a client can call, whatever kind of source it came from: plain, immutable data. */
export interface Capability {
  /** Unique per mount; clients call it by this name. */
  readonly name: string
  /** A name without dots for hosts that reject them, chosen by the source: no diagnostic about it. */
  readonly portableName?: string
  /** Display name for people. */
  readonly title?: string
  /** The description for the model; sent in full. */
  readonly description: string
  /** Validates and documents the arguments. */
  readonly input: Contract
  /** Validates and documents the result data. */
  readonly output?: Contract
  /** Side effects; MCP tool annotations are derived from them. */
  readonly effects: Effects
  /** Constraints that governance enforces on every call. */
  readonly rules: Rules
  /** The place of its declaration. */
  readonly origin: Origin
  /** Metadata passed on to clients; nothing in it is enforced. */
  readonly extras: JsonObject
  /** The interface and endpoint that calls go to, or the agents that may be asked. Approvals cover it. */
  readonly destination?: JsonObject
  /** Digest of the code that calls run, when it is known. Approvals cover it. */
  readonly code?: string
  /** Callable by name but not listed. */
  readonly hidden?: boolean
  /** Runs the capability. Expected failures are returned as a `failed` outcome; a throw is a bug. */
  invoke(call: Call): Promise<Outcome>
}

/** Something readable at a URI: an MCP resource. Reading it is a governed call. */
export interface View extends Capability {
  /** A URI, or an RFC 6570 template whose variables are the input. */
  readonly uri: string
  /** Media type of what is read, such as `application/json`. */
  readonly mimeType?: string
  /** Suggests values for the template's variables. */
  readonly completion?: Capability
}

/** A prompt template that a person picks: an MCP prompt. Rendering is a governed call. */
export interface Prompt extends Capability {
  /** Fields that the person fills in. */
  readonly parameters: readonly PromptParameter[]
  /** Suggests values for the parameters. */
  readonly completion?: Capability
}

/** One field that a person fills in before a prompt is rendered. */
export interface PromptParameter {
  /** Key of the value in the input. */
  readonly name: string
  /** Tells people what to enter. */
  readonly description?: string
  /** `true` if the prompt cannot be rendered without it. */
  readonly required: boolean
}
