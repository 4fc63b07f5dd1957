import type { Contract, ContractReading, Parsed } from '../capability/contract.ts'
import { isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { toPointer } from '../json/to-pointer.ts'
import { readModernSchema } from './contract-from-json-schema.ts'
import type { Direction } from './read-contract.ts'
import { listPatterns } from './schema-patterns.ts'
import { findSlowPatterns } from './slow-patterns.ts'

/** The part of Standard Schema (https://standardschema.dev) that contracts need. */
export interface StandardSchema {
  readonly '~standard': {
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>
    readonly jsonSchema?: Readonly<
      Record<Direction, (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>>
    >
  }
}

type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export const isStandardSchema = (value: unknown): value is StandardSchema =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  '~standard' in value

export function contractFromStandardSchema(
  schema: StandardSchema,
  direction: Direction,
): ContractReading {
  const { vendor, jsonSchema } = schema['~standard']
  if (!jsonSchema)
    return { fault: `${vendor} schemas cannot be converted to JSON Schema. ${toRemedy(vendor)}` }
  // Some converters write an older draft than they are asked for.
  const modern = readModernSchema(jsonSchema[direction]({ target: 'draft-2020-12' }) as JsonObject)
  if (isFault(modern)) return modern
  const { $schema, ...shown } = modern.schema
  return {
    contract: { schema: shown, parse: toParse(schema), takesLiveValues: true },
    remarks: modern.remarks,
    slowPatterns: listPatterns(shown).flatMap(({ source, pointer }) =>
      findSlowPatterns(new RegExp(source, 'u'), pointer),
    ),
  }
}

const toRemedy = (vendor: string): string =>
  vendor === 'valibot'
    ? 'Wrap it in toStandardJsonSchema() of @valibot/to-json-schema.'
    : vendor === 'zod'
      ? 'Use Zod 4.2 or later.'
      : 'Use a version that implements Standard JSON Schema, or write JSON Schema.'

export function toParse(schema: StandardSchema): Contract['parse'] {
  const { validate } = schema['~standard']
  return (value) => {
    const result = validate(value)
    return result instanceof Promise ? result.then(toParsed) : toParsed(result)
  }
}

const toParsed = (result: StandardResult): Parsed =>
  result.issues
    ? { ok: false, issues: result.issues.map(toIssue) }
    : { ok: true, value: result.value }

const toIssue = ({ message, path = [] }: StandardIssue) => ({
  pointer: toPointer(path.map((segment) => (typeof segment === 'object' ? segment.key : segment))),
  message,
})
