import { stepsBetweenChecks } from '../patterns/work-limit.ts'

/**
 * Each validator gets two forms: a function that throws WorkExceeded, and a generator, its property
 * `inSlices`, that yields. Ajv passes its instance to generated code as `self`.
 */
export function addSlicedForm(source: string): string {
  const code = source.replace(sourceUrl, keepLiteral).replace(concat, toJoin)
  const start = code.indexOf('return function ')
  const scope = code.slice(0, start)
  const validator = code.slice(start + 'return '.length)
  const name = validator.slice('function '.length, validator.indexOf('('))
  // Longer functions count as more steps.
  const steps = 1 + Math.floor(code.length / 200)
  const count = `if((work.uncheckedSteps+=${steps})>${stepsBetweenChecks})work.check();`
  return `const work = self.validationWork;${scope}
const ${name} = ${addCounts(validator, count)};
${name}.inSlices = ${toGenerator(addCounts(validator, `${count}if(work.isPauseDue)yield;`))};
return ${name};`
}

/** A string literal. Names and values of the schema occur in generated code only as literals. */
const literal = /"(?:[^"\\\n]|\\.)*"/.source

/**
 * Ajv adds this comment when `process` is set, with the `$id` of the schema. A `$id` that contains the
 * end of a comment would inject code.
 */
const sourceUrl = new RegExp(`${literal}|/\\*# sourceURL=${literal} \\*/`, 'g')

const keepLiteral = (part: string): string => (part.startsWith('"') ? part : '')

const concat = new RegExp(`${literal}|vErrors\\.concat\\(`, 'g')
const toJoin = (part: string): string => (part.startsWith('"') ? part : 'self.joinErrors(vErrors, ')

/** A name, or a path into the value or the schema. */
const operand = `(?:[\\w.[\\]]|${literal})+`

/** Ajv's `for` loops: over indexes, over the keys of an object, over the values of a schema. */
const loop = `\\bfor\\((?:let|const) \\w+(?:=\\w+; \\w+<[\\w.]+; \\w+\\+\\+| (?:in|of) (?:${operand}|Object\\.keys\\(${operand}\\)))\\)\\{`

/** The end of a function's parameters; functions call each other for `$ref`. */
const functionStart = /=\{\}\)\{/.source

/** What counts steps. */
const counted = new RegExp(`${literal}|(?<block>${loop}|${functionStart})`, 'g')

const addCounts = (code: string, count: string): string =>
  code.replace(counted, (...match) => (match.at(-1).block ? match[0] + count : match[0]))

/** A call of another validator; Ajv puts it into parentheses of its own. */
const validatorCall =
  /(?<!function )(?<validator>\b(?:validate|_v)\d+|\b(?:wrapper|root)\d+\.validate)\(/.source
const patternCall = `\\b(?<pattern>pattern\\d+)\\.test\\((?<text>${operand})\\)`
const duplicateCall = /(?<=\bduplicate\d+ = )(?<find>func\d+)\(/.source

/** What is called in its sliced form. */
const calls = new RegExp(`${literal}|${validatorCall}|${patternCall}|${duplicateCall}`, 'g')

const toGenerator = (code: string): string =>
  code
    .replace(calls, (...match) => {
      const { validator, pattern, text, find } = match.at(-1)
      if (validator) return `yield* ${validator}.inSlices(`
      if (pattern) return `(yield* ${pattern}.testInSlices(${text}))`
      if (find) return `yield* ${find}.inSlices(`
      return match[0]
    })
    .replace(/^function \w+/, 'function*')
