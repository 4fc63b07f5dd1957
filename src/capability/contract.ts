import type { Fault } from './fault.ts'
import type { JsonObject } from './json.ts'

/** A schema in two forms: the JSON Schema that clients see, and the `parse` that validates. */
export interface Contract {
  /** JSON Schema 2020-12. */
  readonly schema: JsonObject
  /** Validates a value; may also convert it (defaults, transforms). */
  parse(value: unknown): Parsed | Promise<Parsed>
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
  | { readonly contract: Contract; readonly remarks: readonly string[] }
  | Fault
