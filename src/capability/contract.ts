import type { Fault } from './fault.ts'
import type { JsonObject } from './json.ts'

/** A schema in two forms: the JSON Schema that clients see, and the `parse` that validates. */
export interface Contract {
  /** JSON Schema 2020-12. */
  readonly schema: JsonObject
  /** Validates a value; may also convert it (defaults, transforms). */
  parse(value: unknown): Parsed | Promise<Parsed>
  /**
   * `true` if the output contract of code: `parse` gets what the code returned, such as a `Date`, and
   * its result is converted to JSON. Otherwise the value is converted before `parse`.
   */
  readonly takesLiveValues?: boolean
}

/** The validated value, or why it is invalid. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] }

/** One reason why a value is invalid. */
export interface Issue {
  /** JSON pointer into the value. */
  readonly pointer: string
  /** The constraint that the value violates. */
  readonly message: string
}

/** A contract, or why the schema cannot be used. Remarks are warnings for the operator. */
export type ContractReading =
  | {
      readonly contract: Contract
      readonly remarks: readonly string[]
      readonly slowPatterns?: readonly SlowPattern[]
    }
  | Fault

/** A regular expression on which V8 can take very long (ReDoS). */
export interface SlowPattern {
  /** JSON pointer into the schema. */
  readonly pointer: string
  readonly pattern: string
  /** How the time can grow with the length of the text. */
  readonly growth: 'exponential' | 'polynomial'
}
