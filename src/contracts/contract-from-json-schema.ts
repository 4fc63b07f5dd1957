import type { ErrorObject } from 'ajv/dist/2020.js'
import type { ContractReading, Issue, Parsed } from '../capability/contract.ts'
import type { JsonObject } from '../capability/json.ts'
import { findPatternFault } from '../patterns/linear-pattern.ts'
import { runToEnd, type Sliced, WorkExceeded } from '../patterns/work-limit.ts'
import { type BoundedValidate, boundedAjv } from './bounded-ajv.ts'
import { copyJson, copyJsonInSlices, validationWork } from './bounded-keywords.ts'
import type { Direction } from './read-contract.ts'
import { listPatterns } from './schema-patterns.ts'

/**
 * Serves JSON Schema unchanged. Checked against its meta-schema at load time, compiled at the first
 * call: compiling takes about a millisecond, and a configuration may have thousands of schemas.
 */
export function contractFromJsonSchema(schema: JsonObject, direction: Direction): ContractReading {
  const { $schema, $async: _, ...keywords } = schema
  if ($schema !== undefined && !dialects.has(String($schema)))
    return {
      fault: `the schema dialect ${JSON.stringify($schema)} is not supported; use JSON Schema 2020-12`,
    }
  // Ajv resolves `$ref: "#"` only in schemas with an `$id`.
  const body = { $id: 'schema:/', ...keywords }
  const ajv = boundedAjv()
  if (!ajv.validateSchema(body))
    return { fault: `the schema is not valid: ${formatErrors(ajv.errors)}` }
  for (const { source, pointer } of listPatterns(body)) {
    const fault = findPatternFault(source)
    if (fault !== undefined) return { fault: `${pointer} ${fault}` }
  }
  const text = JSON.stringify(schema)
  const hasDefaults = direction === 'input' && text.includes('"default":')
  const compile = (): BoundedValidate => ajv.compile(body) as unknown as BoundedValidate
  let validate = text.length > maxLazyLength ? compileLarge(compile) : undefined
  if (validate === 'overflow')
    return { fault: 'the schema has too many branches in one place to be validated' }
  return {
    contract: {
      schema,
      parse(value) {
        validate ??= compile()
        return parseBounded(validate as BoundedValidate, value, hasDefaults)
      },
    },
    remarks: [],
  }
}

const maxLazyLength = 16_384

/** Compiled while loading: compiling would delay a call, and the code may overflow V8's stack. */
function compileLarge(compile: () => BoundedValidate): BoundedValidate | 'overflow' {
  try {
    const validate = compile()
    // V8 compiles a function when it is first called.
    validate(undefined)
    runToEnd(validate.inSlices(undefined))
    return validate
  } catch (error) {
    if (error instanceof RangeError) return 'overflow'
    throw error
  }
}

type Parse = (validate: BoundedValidate, value: unknown, hasDefaults: boolean) => Parsed

/** Most values take microseconds. A value that takes longer is validated again, in slices. */
function parseBounded(...args: Parameters<Parse>): Parsed | Promise<Parsed> {
  try {
    return validationWork.run(() => parseAtOnce(...args))
  } catch (error) {
    if (!(error instanceof WorkExceeded)) return toRefusal(error)
    return validationWork.runInSlices(parseInSlices(...args)).catch(toRefusal)
  }
}

const parseAtOnce: Parse = (validate, value, hasDefaults) => {
  // Ajv writes defaults into the value it validates: validate a copy.
  const candidate = hasDefaults ? copyJson(value) : value
  return toParsed(validate, validate(candidate), candidate)
}

function* parseInSlices(...[validate, value, hasDefaults]: Parameters<Parse>): Sliced<Parsed> {
  const candidate = hasDefaults ? yield* copyJsonInSlices(value) : value
  return toParsed(validate, yield* validate.inSlices(candidate), candidate)
}

const toParsed = ({ errors }: BoundedValidate, isValid: boolean, value: unknown): Parsed =>
  isValid ? { ok: true, value } : { ok: false, issues: (errors ?? []).map(toIssue) }

/** Invalid when validation takes too long: a call must not starve those of other callers. */
function toRefusal(error: unknown): Parsed {
  if (error instanceof WorkExceeded) return { ok: false, issues: [tooMuchWork] }
  // A stack overflow.
  if (error instanceof RangeError) return { ok: false, issues: [tooDeep] }
  throw error
}

const tooMuchWork: Issue = {
  pointer: '',
  message:
    'the value was not checked completely, because that takes too long; send shorter strings or fewer items',
}

const tooDeep: Issue = { pointer: '', message: 'the value is nested too deeply to be checked' }

const dialects = new Set([
  'https://json-schema.org/draft/2020-12/schema',
  'https://json-schema.org/draft/2020-12/schema#',
  'http://json-schema.org/draft/2020-12/schema',
  'http://json-schema.org/draft/2020-12/schema#',
])

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
