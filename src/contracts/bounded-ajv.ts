import { createRequire } from 'node:module'
import type {
  Ajv2020,
  CodeKeywordDefinition,
  ErrorObject,
  KeywordCxt,
  ValidateFunction,
} from 'ajv/dist/2020.js'
import { toLinearPattern } from '../patterns/linear-pattern.ts'
import { type Sliced, WorkExceeded } from '../patterns/work-limit.ts'
import { addSlicedForm } from './add-sliced-form.ts'
import {
  findDuplicate,
  findDuplicateInSlices,
  hasAtLeast,
  hasAtMost,
  isMultipleOf,
  toEnumTest,
  validationWork,
} from './bounded-keywords.ts'

const sharedAjvs = new Map<boolean, Ajv2020>()

/** A compiled schema, also as a generator that lets the event loop continue. */
export interface BoundedValidate extends ValidateFunction {
  inSlices(value: unknown): Sliced<boolean>
}

/**
 * Ajv whose validators stop or pause when they have worked for too long: loops and recursive calls count
 * their steps, patterns run in linear time, and `uniqueItems` hashes instead of comparing all pairs.
 * Loaded with the first JSON Schema: a server with only Zod tools starts without Ajv. `ownProperties`
 * doubles the time of a validation.
 */
export function boundedAjv({ ownProperties = false } = {}): Ajv2020 {
  const sharedAjv = sharedAjvs.get(ownProperties)
  if (sharedAjv) return sharedAjv
  const require = createRequire(import.meta.url)
  const { Ajv2020, _ } = require('ajv/dist/2020.js')
  const { default: isEqual } = require('ajv/dist/runtime/equal.js')
  const ajv: Ajv2020 = new Ajv2020({
    strict: false,
    useDefaults: true,
    ownProperties,
    validateFormats: false,
    // Ajv rejects a second schema with the same `$id`; two tools may share one.
    addUsedSchema: false,
    code: { regExp: Object.assign(toRegExp, { code: 'toRegExp' }), process: addSlicedForm },
  })
  Object.assign(ajv, { validationWork, joinErrors })
  const replaceCode = (keyword: string, code: (cxt: KeywordCxt, former: Code) => void): void => {
    const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      ...definition,
      keyword,
      $data: false,
      code: (cxt) => code(cxt, definition.code),
    })
  }
  for (const [keyword, isValid] of [
    ['minLength', hasAtLeast],
    ['maxLength', hasAtMost],
    ['multipleOf', isMultipleOf],
  ] as const)
    replaceCode(keyword, (cxt) => {
      const check = cxt.gen.scopeValue('func', { ref: isValid })
      cxt.fail(_`!${check}(${cxt.data}, ${cxt.schema})`)
    })
  replaceCode('enum', (cxt, former) => {
    if (cxt.schema.length < minHashedEnum) return former(cxt)
    const isAllowed = cxt.gen.scopeValue('func', { ref: toEnumTest(cxt.schema, isEqual) })
    cxt.pass(_`${isAllowed}(${cxt.data})`)
  })
  replaceCode('uniqueItems', (cxt) => {
    if (cxt.schema !== true) return
    const find = cxt.gen.scopeValue('func', { ref: duplicateSearch })
    const duplicate = cxt.gen.const('duplicate', _`${find}(${cxt.data})`)
    cxt.setParams({ i: _`${duplicate}[0]`, j: _`${duplicate}[1]` })
    cxt.fail(duplicate)
  })
  sharedAjvs.set(ownProperties, ajv)
  return ajv
}

type Code = CodeKeywordDefinition['code']

/** Ajv compares with every value; for fewer than these, that is faster. */
const minHashedEnum = 200

const duplicateSearch = Object.assign(findDuplicate, { inSlices: findDuplicateInSlices })

/** The part of a RegExp that generated code uses. */
interface PatternTest {
  test(text: string): boolean
  testInSlices(text: string): Sliced<boolean>
  toString(): string
}

function toRegExp(source: string): PatternTest {
  const pattern = toLinearPattern(source)
  return {
    test: (text) => pattern.test(text, validationWork),
    testInSlices: (text) => pattern.testInSlices(text, validationWork),
    // Ajv uses the string form as the key under which it shares patterns.
    toString: () => source,
  }
}

/** Nested alternatives can double the errors at every level. */
function joinErrors(errors: readonly ErrorObject[], others: readonly ErrorObject[]): ErrorObject[] {
  if (errors.length + others.length > maxErrors) throw new WorkExceeded()
  return errors.concat(others)
}

const maxErrors = 10_000
