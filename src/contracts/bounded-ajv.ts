import { createRequire } from 'node:module'
import type { Ajv2020, KeywordCxt, KeywordDefinition } from 'ajv/dist/2020.js'
import { toLinearPattern } from '../patterns/linear-pattern.ts'
import { stepsBetweenChecks } from '../patterns/work-limit.ts'
import { findDuplicate, hasAtLeast, hasAtMost, validationWork } from './bounded-keywords.ts'

let sharedAjv: Ajv2020 | undefined

/**
 * Ajv whose validators stop when they have worked for too long: loops and recursive calls count
 * their steps, patterns run in linear time, and `uniqueItems` hashes instead of comparing all pairs.
 * Loaded with the first JSON Schema: a server with only Zod tools starts without Ajv.
 */
export function boundedAjv(): Ajv2020 {
  if (!sharedAjv) {
    const { Ajv2020, _ } = createRequire(import.meta.url)('ajv/dist/2020.js')
    const ajv: Ajv2020 = new Ajv2020({
      strict: false,
      useDefaults: true,
      validateFormats: false,
      // Ajv rejects a second schema with the same `$id`; two tools may share one.
      addUsedSchema: false,
      code: { regExp: Object.assign(toRegExp, { code: 'toRegExp' }), process: addStepCounts },
    })
    Object.assign(ajv, { validationWork })
    const replaceCode = (keyword: string, code: (cxt: KeywordCxt) => void): void => {
      const definition = ajv.getKeyword(keyword) as KeywordDefinition
      ajv.removeKeyword(keyword)
      ajv.addKeyword({ ...definition, keyword, $data: false, code } as KeywordDefinition)
    }
    for (const [keyword, isValid] of [
      ['minLength', hasAtLeast],
      ['maxLength', hasAtMost],
    ] as const)
      replaceCode(keyword, (cxt) => {
        const check = cxt.gen.scopeValue('func', { ref: isValid })
        cxt.fail(_`!${check}(${cxt.data}, ${cxt.schema})`)
      })
    replaceCode('uniqueItems', (cxt) => {
      if (cxt.schema !== true) return
      const find = cxt.gen.scopeValue('func', { ref: findDuplicate })
      const duplicate = cxt.gen.const('duplicate', _`${find}(${cxt.data})`)
      cxt.setParams({ i: _`${duplicate}[0]`, j: _`${duplicate}[1]` })
      cxt.fail(duplicate)
    })
    sharedAjv = ajv
  }
  return sharedAjv
}

function toRegExp(source: string): Pick<RegExp, 'test'> & { toString(): string } {
  const pattern = toLinearPattern(source)
  return {
    test: (text) => pattern.test(text, validationWork),
    // Ajv uses the string form as the key under which it shares patterns.
    toString: () => source,
  }
}

/** A string literal. Names and values of the schema occur in generated code only as literals. */
const literal = /"(?:[^"\\\n]|\\.)*"/.source

/**
 * Ajv adds this comment when `process` is set, with the `$id` of the schema. A `$id` that contains the
 * end of a comment would inject code.
 */
const sourceUrl = new RegExp(`/\\*# sourceURL=${literal} \\*/`, 'g')

/** Ajv's `for` loops: over indexes, over the keys of an object, over the values of a schema. */
const loop = /\bfor\((?:let|const) \w+(?:=\w+; \w+<[\w.]+; \w+\+\+| (?:in|of) [\w.]+)\)\{/.source

/** The end of a function's parameters; functions call each other for `$ref`. */
const functionStart = /=\{\}\)\{/.source

const counted = new RegExp(`${literal}|${loop}|${functionStart}`, 'g')

/** Ajv passes its instance to generated code as `self`. Longer functions count as more steps. */
function addStepCounts(source: string): string {
  const code = source.replace(sourceUrl, '')
  const steps = 1 + Math.floor(code.length / 200)
  const count = `if((work.uncheckedSteps+=${steps})>${stepsBetweenChecks})work.check();`
  const body = code.replace(counted, (part) => (part.startsWith('"') ? part : part + count))
  return `const work = self.validationWork;${body}`
}
