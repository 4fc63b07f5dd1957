import { createRequire } from 'node:module'
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { ContractReading, Issue } from '../capability/contract.ts'
import type { JsonObject } from '../capability/json.ts'
import type { Direction } from './read-contract.ts'

/**
 * Serves JSON Schema unchanged. Checked against its meta-schema at load time, compiled at the first
 * call: compiling takes about a millisecond, and a configuration may have thousands of schemas.
 */
export function contractFromJsonSchema(schema: JsonObject, direction: Direction): ContractReading {
  const { $schema, ...body } = schema
  if ($schema !== undefined && !dialects.has(String($schema)))
    return {
      fault: `the schema dialect ${JSON.stringify($schema)} is not supported; use JSON Schema 2020-12`,
    }
  if (!ajv().validateSchema(body))
    return { fault: `the schema is not valid: ${formatErrors(ajv().errors)}` }
  const hasDefaults = direction === 'input' && JSON.stringify(schema).includes('"default":')
  let validate: ValidateFunction | undefined
  return {
    contract: {
      schema,
      parse(value) {
        validate ??= ajv().compile(body)
        // Ajv writes defaults into the value it validates: validate a copy.
        const candidate = hasDefaults ? structuredClone(value) : value
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

let sharedAjv: Ajv2020 | undefined

/** Loaded with the first JSON Schema: a server with only Zod tools starts without Ajv. */
function ajv(): Ajv2020 {
  if (!sharedAjv) {
    const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js')
    sharedAjv = new Ajv2020({
      strict: false,
      useDefaults: true,
      validateFormats: false,
      // Ajv rejects a second schema with the same `$id`; two tools may share one.
      addUsedSchema: false,
    }) as Ajv2020
  }
  return sharedAjv
}

const formatErrors = (errors: readonly ErrorObject[] | null | undefined): string =>
  (errors ?? []).map((error) => `${error.instancePath || '/'} ${error.message}`).join('; ')

const toIssue = (error: ErrorObject): Issue => ({
  pointer: error.instancePath,
  message: [error.message ?? error.keyword, toDetail(error)].filter(Boolean).join(': '),
})

function toDetail({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === 'enum') return JSON.stringify(params.allowedValues)
  if (keyword === 'additionalProperties') return JSON.stringify(params.additionalProperty)
  if (keyword === 'const') return JSON.stringify(params.allowedValue)
  return undefined
}
