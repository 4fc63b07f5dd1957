import { createRequire } from 'node:module'
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { ContractReading, Issue } from '../capability/contract.ts'
import type { JsonObject } from '../capability/json.ts'
import type { Direction } from './read-contract.ts'

/**
 * JSON Schema as it was written. It is checked against its own meta-schema now and compiled at the
 * first call: compiling takes about a millisecond, and a team may bring thousands of schemas.
 */
export function contractFromJsonSchema(schema: JsonObject, direction: Direction): ContractReading {
  const { $schema, ...unmarked } = schema
  if ($schema !== undefined && !dialects.has(String($schema)))
    return { fault: `its dialect ${JSON.stringify($schema)} is not JSON Schema 2020-12` }
  if (!ajv().validateSchema(unmarked)) return { fault: `it is not valid: ${toFault(ajv().errors)}` }
  const fillsIn = direction === 'input' && JSON.stringify(schema).includes('"default":')
  let validate: ValidateFunction | undefined
  return {
    contract: {
      schema,
      parse(value) {
        validate ??= ajv().compile(unmarked)
        // Ajv writes defaults into what it checks: the caller's value is not ours to change.
        const candidate = fillsIn ? structuredClone(value) : value
        return validate(candidate)
          ? { ok: true, value: candidate }
          : { ok: false, issues: (validate.errors ?? []).map(toIssue) }
      },
    },
    remarks: [],
  }
}

const dialects = new Set([
  'https://json-schema.org/draft/2020-12/schema',
  'https://json-schema.org/draft/2020-12/schema#',
  'http://json-schema.org/draft/2020-12/schema',
  'http://json-schema.org/draft/2020-12/schema#',
])

let shared: Ajv2020 | undefined

/** Loaded when the first JSON Schema is seen: a server of Zod tools starts without it. */
function ajv(): Ajv2020 {
  if (!shared) {
    const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js')
    shared = new Ajv2020({
      strict: false,
      useDefaults: true,
      validateFormats: false,
      // Two tools may carry the same `$id`.
      addUsedSchema: false,
    }) as Ajv2020
  }
  return shared
}

const toFault = (errors: readonly ErrorObject[] | null | undefined): string =>
  (errors ?? []).map((error) => `${error.instancePath || '/'} ${error.message}`).join('; ')

const toIssue = (error: ErrorObject): Issue => ({
  pointer: error.instancePath,
  message: [error.message ?? error.keyword, detail(error)].filter(Boolean).join(': '),
})

function detail({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === 'enum') return JSON.stringify(params.allowedValues)
  if (keyword === 'additionalProperties') return JSON.stringify(params.additionalProperty)
  if (keyword === 'const') return JSON.stringify(params.allowedValue)
  return undefined
}
