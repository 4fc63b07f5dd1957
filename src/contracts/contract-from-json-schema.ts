import type { ErrorObject } from 'ajv/dist/2020.js'
import type { ContractReading, Issue, Parsed } from '../capability/contract.ts'
import { type Fault, isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { allKeywords } from '../json/schema/keywords.ts'
import { referencesOf } from '../json/schema/references.ts'
import { pointerOf } from '../json/schema/walk-schema.ts'
import { findPatternFault } from '../patterns/linear-pattern.ts'
import { runToEnd, type Sliced, WorkExceeded } from '../patterns/work-limit.ts'
import { type BoundedValidate, boundedAjv } from './bounded-ajv.ts'
import { copyJson, copyJsonInSlices, validationWork } from './bounded-keywords.ts'
import { type ModernSchema, modernizeSchema } from './modernize/modernize-schema.ts'
import { readDraft } from './modernize/read-draft.ts'
import type { Direction } from './read-contract.ts'
import { findSchemaFault } from './schema-fault.ts'
import { listPatterns, withUnicodePatterns } from './schema-patterns.ts'
import { findShapeFault } from './schema-shape.ts'
import { refuseTooDeep } from './stack-overflow.ts'

/**
 * Serves JSON Schema 2020-12 unchanged, and older drafts in the keywords of 2020-12. Checked against its
 * meta-schema at load time, compiled at the first call: compiling takes about a millisecond, and a
 * configuration may have thousands of schemas.
 */
export function contractFromJsonSchema(
  original: JsonObject,
  direction: Direction,
): ContractReading {
  const modern = readModernSchema(original)
  if (isFault(modern)) return modern
  const { schema, remarks, body, text } = modern
  for (const { source, pointer } of listPatterns(schema)) {
    const fault = findPatternFault(source)
    if (fault !== undefined) return { fault: `${pointer} ${fault}` }
  }
  const hasDefaults = direction === 'input' && text.includes('"default":')
  const ownProperties = inheritedName.test(text)
  const compile = (): BoundedValidate =>
    boundedAjv({ ownProperties }).compile(body) as unknown as BoundedValidate
  const hasUnusual = unusualReference.test(text)
  const referenceFault = hasUnusual ? findSchemaFault(schema) : undefined
  if (referenceFault !== undefined) return { fault: referenceFault }
  const isEager = text.length > maxLazyLength || hasUnusual
  let validate = isEager ? compileNow(compile) : undefined
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
    remarks,
  }
}

interface CheckedSchema extends ModernSchema {
  /** The schema as Ajv takes it. */
  readonly body: JsonObject
  readonly text: string
}

/** A schema of any draft in the keywords of 2020-12, checked against the meta-schema. */
export function readModernSchema(original: JsonObject): CheckedSchema | Fault {
  const fault = findShapeFault(original) ?? findPropertiesFault(original)
  if (fault !== undefined) return { fault }
  const originalText = JSON.stringify(original)
  const draft = readDraft(original, originalText)
  if (typeof draft === 'object') return draft
  const modern = modernizeSchema(original, draft, originalText)
  const schema = withUnicodePatterns(modern.schema)
  const { $schema, $async: _, ...keywords } = schema
  // Ajv resolves `$ref: "#"` only in schemas with an `$id`.
  const body = { $id: 'schema:/', ...keywords }
  const ajv = boundedAjv()
  if (!ajv.validateSchema(body))
    return {
      fault: findTypeFault(schema) ?? `the schema is not valid: ${formatErrors(ajv.errors)}`,
    }
  const text = schema === original ? originalText : JSON.stringify(schema)
  return { ...modern, schema, body, text }
}

/** The types of Gemini and of some other APIs are upper case. */
function findTypeFault(schema: JsonObject): string | undefined {
  const node = referencesOf(schema).nodes.find(({ schema: { type } }) => isUpperCaseType(type))
  return (
    node &&
    `${pointerOf(node)}/type is ${JSON.stringify(node.schema.type)}; the types of JSON Schema are lower case, such as "object"`
  )
}

const isUpperCaseType = (type: unknown): boolean =>
  typeof type === 'string' && /^(?:OBJECT|ARRAY|STRING|NUMBER|INTEGER|BOOLEAN|NULL)$/.test(type)

/** A map of properties without `properties` around it would accept every value. */
function findPropertiesFault(schema: JsonObject): string | undefined {
  const entries = Object.entries(schema)
  const isMap = entries.every(
    ([name, value]) => isPlainObject(value) && !allKeywords.has(name) && !name.startsWith('x-'),
  )
  if (entries.length === 0 || !isMap) return undefined
  const [[name] = ['']] = entries
  return `the schema has no keyword of JSON Schema, so it would accept every value; write { "type": "object", "properties": { ${JSON.stringify(name)}: … } }`
}

const maxLazyLength = 16_384

/** Not a pointer in the same document: Ajv does not find every anchor and relative URI. */
const unusualReference = /"\$(?:ref|dynamicRef)":"(?!#\/|#")/

/** Names such as `constructor`, under which every object has something that is not its own. */
const inheritedName = new RegExp(`"(?:${Object.getOwnPropertyNames(Object.prototype).join('|')})"`)

/** Compiled while loading: compiling a large one delays a call, and its code may overflow V8's stack. */
function compileNow(compile: () => BoundedValidate): BoundedValidate | 'overflow' {
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
  return refuseTooDeep(error)
}

const tooMuchWork: Issue = {
  pointer: '',
  message:
    'the value was not checked completely, because that takes too long; send shorter strings or fewer items',
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
