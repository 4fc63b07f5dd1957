import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { type Fields, isFields } from './api-document.ts'

export interface GenerateOptions {
  readonly seed: number
  /** Characters that the place of a top-level argument cannot carry. */
  readonly unsafe?: (argument: string) => RegExp
}

/**
 * Arguments that are valid for the input schema of a tool, as a client sees it. Deterministic. Throws if
 * none is found.
 */
export function generateArguments(schema: Fields, { seed, unsafe }: GenerateOptions): Fields {
  const validate = compile(schema)
  const failures: string[] = []
  for (const [attempt, share] of shares.entries()) {
    const random = new Random(seed + 7919 * attempt)
    const generator = new Generator(schema, random, share, unsafe ?? (() => nothing))
    const value = generator.arguments()
    if (validate(value)) return value
    const [error] = validate.errors ?? []
    failures.push(`${error?.instancePath} ${error?.message}`)
  }
  throw new Error(`no valid arguments found: ${[...new Set(failures)].slice(0, 3).join('; ')}`)
}

/** How many of the optional properties are set: everything first, then fewer. */
const shares = [1, 1, 1, 0.6, 0.6, 0.6, 0.3, 0.3, 0.3, 0.1, 0.1, 0, 0, 0, 0]

const compiled = new WeakMap<Fields, ValidateFunction>()

function compile(schema: Fields): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
  const validate = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, validate)
  return validate
}

/** Matches no text. */
export const nothing = /(?!)/

/** Mulberry32. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }
}

/** Texts that break careless encoders. */
const texts = [
  'plain',
  'two words',
  ' edges ',
  'a&b=c',
  '1+1=2',
  '100%',
  '%41%zz',
  'a/b?c#d',
  '[x];y,z|w',
  'tilde~dot.dash-',
  '"quoted" \'single\'',
  '{"json":true}',
  'ünïcödé',
  '日本語 テキスト',
  'family 👩‍👩‍👧',
  "(!*')",
  'back\\slash',
  '<tag>$@:',
  'null',
  'true',
  '0',
  'line\nbreak\ttab',
]

const maxDepth = 5

class Generator {
  readonly #root: Fields
  readonly #random: Random
  readonly #share: number
  readonly #unsafeFor: (argument: string) => RegExp
  #unsafe = nothing
  #size = 0

  constructor(root: Fields, random: Random, share: number, unsafe: (argument: string) => RegExp) {
    this.#root = root
    this.#random = random
    this.#share = share
    this.#unsafeFor = unsafe
  }

  /** Every argument is present, unless fewer are wanted. */
  arguments(): Fields {
    const properties = isFields(this.#root.properties) ? this.#root.properties : {}
    const required = new Set(toList(this.#root.required))
    const entries = Object.entries(properties).flatMap(([name, schema]) => {
      if (!required.has(name) && this.#random.next() > Math.max(this.#share, 0.1)) return []
      this.#unsafe = this.#unsafeFor(name)
      return [[name, this.#value(schema, 1)] as const]
    })
    return Object.fromEntries(entries)
  }

  #value(declared: unknown, depth: number): unknown {
    const schema = this.#flatten(declared, 0)
    if (schema === undefined) return this.#text({})
    if (schema.const !== undefined) return schema.const
    if (Array.isArray(schema.enum)) return this.#random.pick(this.#withoutNull(schema.enum))
    switch (this.#type(schema)) {
      case 'object':
        return this.#object(schema, depth)
      case 'array':
        return this.#array(schema, depth)
      case 'boolean':
        return this.#random.next() < 0.5
      case 'integer':
        return this.#number(schema, true)
      case 'number':
        return this.#number(schema, false)
      case 'null':
        return null
      default:
        return this.#text(schema)
    }
  }

  #type(schema: Fields): unknown {
    const types = toList(schema.type)
    if (types.length > 0) return this.#random.pick(this.#withoutNull(types, 'null'))
    if (schema.properties !== undefined || schema.additionalProperties !== undefined)
      return 'object'
    if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
    if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number'
    return 'string'
  }

  /** Null only sometimes, so that most values say something. */
  #withoutNull(values: readonly unknown[], nothing: unknown = null): readonly unknown[] {
    const others = values.filter((value) => value !== nothing)
    return others.length === 0 || this.#random.next() < 0.1 ? values : others
  }

  /** One schema of what references and alternatives say; undefined if everything is allowed. */
  #flatten(declared: unknown, hops: number): Fields | undefined {
    if (!isFields(declared) || hops > 20) return undefined
    const { $ref, allOf, anyOf, oneOf, ...own } = declared
    let schema: Fields = own
    if (typeof $ref === 'string')
      schema = merge(this.#flatten(this.#lookUp($ref), hops + 1) ?? {}, schema)
    for (const part of Array.isArray(allOf) ? allOf : [])
      schema = merge(schema, this.#flatten(part, hops + 1) ?? {})
    for (const alternatives of [anyOf, oneOf])
      if (Array.isArray(alternatives) && alternatives.length > 0)
        schema = merge(schema, this.#flatten(this.#random.pick(alternatives), hops + 1) ?? {})
    return Array.isArray(oneOf) ? withoutOthers(schema, oneOf) : schema
  }

  #lookUp(reference: string): unknown {
    const keys = reference.split('/').slice(1)
    return keys.reduce<unknown>(
      (value, key) =>
        isFields(value) || Array.isArray(value)
          ? (value as Fields)[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')]
          : undefined,
      this.#root,
    )
  }

  #object(schema: Fields, depth: number): Fields {
    const properties = isFields(schema.properties) ? schema.properties : {}
    const required = new Set(toList(schema.required))
    const share = depth >= maxDepth || this.#size > 3000 ? 0 : this.#share
    const result: Record<string, unknown> = {}
    for (const [name, property] of Object.entries(properties)) {
      const isNeeded =
        required.has(name) || Object.keys(result).length < Number(schema.minProperties)
      if (property === false) continue
      if (isNeeded || this.#random.next() < share) result[name] = this.#value(property, depth + 1)
    }
    for (const name of required)
      if (!Object.hasOwn(result, String(name))) result[String(name)] = this.#text({})
    const { additionalProperties: more } = schema
    const wanted = Math.max(
      Number(schema.minProperties ?? 0) - Object.keys(result).length,
      isFields(more) && share > 0 ? 2 : 0,
    )
    if (more !== false)
      for (let index = 0; index < wanted; index++)
        result[`key${index}`] = this.#value(more ?? {}, depth + 1)
    return result
  }

  #array(schema: Fields, depth: number): unknown[] {
    const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
    const min = Number(schema.minItems ?? 0)
    const usual = depth >= maxDepth || this.#size > 3000 ? 0 : 1 + this.#random.below(3)
    const count = Math.min(
      Math.max(min, usual),
      Number(schema.maxItems ?? Number.POSITIVE_INFINITY),
    )
    const items = fixed.map((item) => this.#value(item, depth + 1))
    for (let tries = 0; items.length < count && tries < 4 * count + 20; tries++) {
      const item = this.#value(schema.items, depth + 1)
      const isNew = !items.some((one) => JSON.stringify(one) === JSON.stringify(item))
      if (schema.uniqueItems !== true || isNew) items.push(item)
    }
    return items
  }

  #number(schema: Fields, isWhole: boolean): number {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    const step = typeof multipleOf === 'number' ? multipleOf : isWhole ? 1 : undefined
    const low = Math.max(
      toNumber(minimum, Number.NEGATIVE_INFINITY),
      toNumber(exclusiveMinimum, Number.NEGATIVE_INFINITY) + (step ?? 1e-3),
    )
    const high = Math.min(
      toNumber(maximum, Number.POSITIVE_INFINITY),
      toNumber(exclusiveMaximum, Number.POSITIVE_INFINITY) - (step ?? 1e-3),
    )
    const isOpen = !Number.isFinite(low) && !Number.isFinite(high)
    const special = isWhole ? [0, -1, 42, 2 ** 31 - 1] : [0, -1.5, 0.1, 1e-7, 1e21, 12345.678]
    if (isWhole && schema.format === 'int64') special.push(Number.MAX_SAFE_INTEGER)
    if (isOpen && multipleOf === undefined) return this.#random.pick(special)
    const from = Number.isFinite(low) ? low : high - 100
    const to = Number.isFinite(high) ? high : low + 100
    const value = from + this.#random.next() * (to - from)
    if (step === undefined) return value
    const rounded = Math.ceil(from / step) * step + Math.floor((value - from) / step) * step
    return rounded > to ? Math.ceil(from / step) * step : rounded
  }

  #text(schema: Fields): string {
    const text = this.#anyText(schema)
    this.#size += text.length
    return text
  }

  #anyText({ format, pattern, contentEncoding, minLength, maxLength }: Fields): string {
    const seed = this.#random.below(2 ** 31)
    if (contentEncoding === 'base64')
      return Buffer.from([seed % 256, 255, 0, 62]).toString('base64')
    if (typeof pattern === 'string') return this.#matching(pattern, seed, minLength, maxLength)
    const min = Number(minLength ?? 0)
    const max = Number(maxLength ?? Number.POSITIVE_INFINITY)
    const byFormat = formats[String(format)]
    if (byFormat && byFormat.length >= min && byFormat.length <= max) return byFormat
    for (let tries = 0; tries < 60; tries++) {
      let text = this.#random.pick(texts)
      while ([...text].length < min) text += this.#random.pick(['x', 'y z', '-'])
      text = [...text].slice(0, max).join('').toWellFormed()
      if (!this.#unsafe.test(text)) return text
    }
    return 'x'.repeat(Math.min(Math.max(min, 3), max))
  }

  #matching(pattern: string, seed: number, minLength: unknown, maxLength: unknown): string {
    const [min, max] = [Number(minLength ?? 0), Number(maxLength ?? Number.POSITIVE_INFINITY)]
    try {
      const candidates = fc.sample(fc.stringMatching(new RegExp(pattern, 'u')), {
        seed,
        numRuns: 30,
      })
      const fitting = candidates.filter(
        (text) => [...text].length >= min && [...text].length <= max && !this.#unsafe.test(text),
      )
      return fitting.find((text) => text !== '') ?? fitting[0] ?? candidates[0] ?? ''
    } catch {
      return 'x'
    }
  }
}

/** Of alternatives that only require different properties, the others' properties must be absent. */
function withoutOthers(schema: Fields, alternatives: readonly unknown[]): Fields {
  const lists = alternatives.filter(isFields).map(({ required }) => toList(required))
  const isChoice = alternatives.every(
    (one) => isFields(one) && Object.keys(one).join() === 'required',
  )
  if (!isChoice) return schema
  const required = new Set(toList(schema.required))
  const others = lists.flat().filter((name) => !required.has(name))
  const absent = Object.fromEntries(others.map((name) => [String(name), false]))
  return { ...schema, properties: { ...(schema.properties as Fields), ...absent } }
}

// biome-ignore format: table
const formats: Readonly<Record<string, string>> = {
  date:        '2024-02-29',
  'date-time': '2024-02-29T23:59:59+02:00',
  time:        '23:59:59Z',
  duration:    'P3DT4H',
  uuid:        '9b2d4c5e-8a1f-4c3d-9e7b-1a2b3c4d5e6f',
  email:       'jo+tag@example.com',
  uri:         'https://example.com/a?b=c&d=e#f',
  url:         'https://example.com/a?b=c&d=e#f',
  ipv4:        '192.0.2.1',
  ipv6:        '2001:db8::1',
  hostname:    'api.example.com',
}

/** Both must hold; of bounds that both give, the narrower is used only if it comes second. */
function merge(first: Fields, second: Fields): Fields {
  const merged: Record<string, unknown> = { ...first, ...second }
  for (const keyword of ['properties', 'patternProperties', '$defs'])
    if (isFields(first[keyword]) && isFields(second[keyword]))
      merged[keyword] = mergeProperties(first[keyword], second[keyword])
  if (first.required !== undefined && second.required !== undefined)
    merged.required = [...new Set([...toList(first.required), ...toList(second.required)])]
  if (first.type !== undefined && second.type !== undefined) {
    const common = toList(first.type).filter((type) => toList(second.type).includes(type))
    merged.type = common.length > 0 ? common : second.type
  }
  if (Array.isArray(first.enum) && Array.isArray(second.enum)) {
    const others = second.enum
    const common = first.enum.filter((value) => others.includes(value))
    merged.enum = common.length > 0 ? common : second.enum
  }
  if (first.additionalProperties === false) merged.additionalProperties = false
  return merged
}

const mergeProperties = (first: Fields, second: Fields): Fields => {
  const merged: Record<string, unknown> = { ...first }
  for (const [name, schema] of Object.entries(second))
    merged[name] = Object.hasOwn(first, name) ? { allOf: [first[name], schema] } : schema
  return merged
}

const toList = (value: unknown): readonly unknown[] => (value === undefined ? [] : [value].flat())

const toNumber = (value: unknown, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise
