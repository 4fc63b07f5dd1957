import type { JsonObject } from './json.ts'

/** What a value must look like: the JSON Schema that is shown, and the `parse` that runs. */
export interface Contract {
  readonly schema: JsonObject
  parse(value: unknown): Parsed | Promise<Parsed>
}

export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] }

export interface Issue {
  /** JSON pointer into the value. */
  readonly pointer: string
  readonly message: string
}

/** A contract, or why there is none. Remarks are worth telling the operator but hurt nothing. */
export type ContractReading =
  | { readonly contract: Contract; readonly remarks: readonly string[] }
  | { readonly fault: string }

export const toPointer = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
