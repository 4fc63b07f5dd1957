import type { Json, JsonObject } from '../../capability/json.ts'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { annotationKeywords } from '../../json/schema/keywords.ts'
import type { LoweredSchema } from './lower-schema.ts'

/**
 * Shows an input whose root is a union or an intersection as one object: the properties of all variants,
 * of which those are required that every variant requires. A variant that is not closed accepts anything
 * in the properties of the others, which is not shown. Calls are checked against the schema itself.
 */
export function mergeRootUnion(schema: JsonObject): LoweredSchema {
  if (!refusedAtRoot.some((keyword) => keyword in schema)) return { schema, losses: [] }
  const {
    allOf,
    anyOf,
    oneOf,
    not,
    enum: values,
    const: only,
    $ref,
    properties,
    required,
    ...rest
  } = schema
  const search = new VariantSearch(schema)
  const variants = search.toVariants(schema)
  const dropped = Object.keys({ not, enum: values, const: only }).filter(
    (keyword) => schema[keyword] !== undefined,
  )
  const losses = dropped.map((keyword) => `does not show the keyword ${keyword} at its root`)
  if (!variants)
    return {
      schema: { ...rest, type: 'object', properties: properties ?? {} },
      losses: [...losses, `does not show its variants: there are more than ${maxVariants}`],
    }
  const merged = mergeVariants(variants)
  const hidden = [...search.hiddenKeywords]
  const isClosureHidden = search.hasClosedMember && merged.additionalProperties !== false
  if (isClosureHidden) hidden.push('additionalProperties')
  if (hidden.length > 0)
    losses.push(
      `does not show of its variants: ${[...new Set(hidden)].sort(byCodeUnit).join(', ')}`,
    )
  const summary = variants.length > 1 ? describeVariants(variants) : undefined
  const description = [rest.description, summary].filter(Boolean).join('\n')
  return {
    schema: {
      ...rest,
      ...(description !== '' && { description }),
      type: 'object',
      ...merged,
    },
    losses:
      variants.length > 1
        ? [
            ...losses,
            `shows its ${variants.length} variants as one object: only its description says which properties belong together`,
          ]
        : losses,
  }
}

/** At the root of an input, the APIs of Anthropic and OpenAI refuse them. */
const refusedAtRoot = ['allOf', 'anyOf', 'oneOf', 'not', 'enum', 'const']

const maxVariants = 64
const maxDepth = 16

/** One set of properties that belong together. */
interface Variant {
  readonly properties: ReadonlyMap<string, Json>
  readonly required: ReadonlySet<string>
  /** True if other properties are refused. */
  readonly isClosed: boolean
}

/** `undefined` instead of variants: there are too many. */
class VariantSearch {
  /** Keywords of the members that the merged object does not have. */
  readonly hiddenKeywords = new Set<string>()
  hasClosedMember = false
  readonly #root: JsonObject
  /** A schema that many references name is searched once; `undefined` while it is searched. */
  readonly #known = new Map<JsonObject, Variant[] | undefined>()
  #remaining = maxCombinations

  constructor(root: JsonObject) {
    this.#root = root
  }

  toVariants(schema: Json | undefined, depth = 0): Variant[] | undefined {
    if (schema === true) return [anything]
    if (!isPlainObject(schema) || depth > maxDepth) return schema === false ? [] : undefined
    const member = schema as JsonObject
    if (this.#known.has(member)) return this.#known.get(member)
    this.#known.set(member, undefined)
    const variants = this.#search(member, depth)
    this.#known.set(member, variants)
    return variants
  }

  #search(schema: JsonObject, depth: number): Variant[] | undefined {
    const { type, properties, required, additionalProperties, patternProperties } = schema
    if (type !== undefined && ![type].flat().includes('object')) return []
    if (schema !== this.#root) this.#noteKeywords(schema)
    const own: Variant = {
      properties: new Map(Object.entries(asObject(properties)) as [string, Json][]),
      required: new Set((Array.isArray(required) ? required : []) as string[]),
      isClosed: additionalProperties === false && patternProperties === undefined,
    }
    let variants: Variant[] | undefined = [own]
    for (const read of this.#listParts(schema, depth + 1)) {
      variants = this.#combine(variants, read())
      // The other parts could only add to them.
      if (!variants) return undefined
    }
    return variants
  }

  /** The members that apply together with the schema itself, each searched only when it is needed. */
  *#listParts(
    { $ref, allOf, anyOf, oneOf }: JsonObject,
    depth: number,
  ): Generator<() => Variant[] | undefined> {
    if (typeof $ref === 'string') yield () => this.toVariants(resolve($ref, this.#root), depth)
    for (const member of asArray(allOf)) yield () => this.toVariants(member, depth)
    for (const union of [anyOf, oneOf])
      if (Array.isArray(union)) yield () => this.#toBranches(union as Json[], depth)
  }

  #toBranches(union: readonly Json[], depth: number): Variant[] | undefined {
    const all: Variant[] = []
    for (const branch of union) {
      const variants = this.toVariants(branch, depth)
      if (!variants || all.length + variants.length > maxVariants) return undefined
      all.push(...variants)
    }
    return all
  }

  #combine(
    some: readonly Variant[],
    others: readonly Variant[] | undefined,
  ): Variant[] | undefined {
    const count = some.length * (others?.length ?? 0)
    this.#remaining -= count
    if (!others || count > maxVariants || this.#remaining < 0) return undefined
    return some.flatMap((one) => others.map((other) => both(one, other)))
  }

  #noteKeywords(schema: JsonObject): void {
    for (const [keyword, value] of Object.entries(schema))
      if (keyword === 'additionalProperties') {
        if (value === false) this.hasClosedMember = true
        else if (isPlainObject(value)) this.hiddenKeywords.add(keyword)
      } else if (!mergedKeywords.has(keyword) && !annotationKeywords.has(keyword))
        this.hiddenKeywords.add(keyword)
  }
}

/** Bounds the work for all members together. */
const maxCombinations = 10_000

/** Keywords of a member that the merged object takes over, and those that only name schemas. */
const mergedKeywords = new Set([
  'type',
  'properties',
  'required',
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  '$defs',
  'definitions',
  '$id',
  '$schema',
  '$anchor',
  '$dynamicAnchor',
])

const anything: Variant = { properties: new Map(), required: new Set(), isClosed: false }

/** References are below `#/$defs` when unions are merged. */
function resolve(reference: string, { $defs }: JsonObject): Json | undefined {
  const name = /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1]
  return name === undefined ? undefined : asObject($defs)[name]
}

function both(one: Variant, other: Variant): Variant {
  const properties = new Map(one.properties)
  for (const [name, schema] of other.properties) {
    const former = properties.get(name)
    properties.set(
      name,
      former === undefined || isSame(former, schema) ? schema : { allOf: [former, schema] },
    )
  }
  return {
    properties,
    required: new Set([...one.required, ...other.required]),
    // The value has to match both: what one of them refuses is refused.
    isClosed: one.isClosed || other.isClosed,
  }
}

function mergeVariants(variants: readonly Variant[]): JsonObject {
  const names = [...new Set(variants.flatMap(({ properties }) => [...properties.keys()]))]
  const properties = names.map((name): [string, Json] => {
    const schemas = variants.flatMap((variant) => variant.properties.get(name) ?? [])
    return [name, eitherOf(schemas)]
  })
  const [first, ...others] = variants
  const required = [...(first?.required ?? [])].filter((name) =>
    others.every((variant) => variant.required.has(name)),
  )
  return {
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(variants.every(({ isClosed }) => isClosed) && { additionalProperties: false }),
  }
}

/** One schema for a property of several variants: an enum for a discriminator. */
function eitherOf(schemas: readonly Json[]): Json {
  const distinct = schemas.filter(
    (schema, index) => schemas.findIndex((other) => isSame(other, schema)) === index,
  )
  const [only] = distinct
  if (distinct.length === 1 && only !== undefined) return only
  const values = distinct.map(listValues)
  if (values.some((list) => !list)) return { anyOf: distinct }
  const all = [...new Set(values.flatMap((list) => list ?? []))]
  const isText = all.every((value) => typeof value === 'string')
  return { ...(isText && { type: 'string' }), enum: all }
}

/** The values of a schema that is a constant or an enum and nothing else. */
function listValues(schema: Json): readonly Json[] | undefined {
  if (!isPlainObject(schema)) return undefined
  const {
    type: _,
    const: only,
    enum: values,
    title: __,
    description: ___,
    ...rest
  } = schema as JsonObject
  if (Object.keys(rest).length > 0) return undefined
  return only !== undefined ? [only] : Array.isArray(values) ? (values as Json[]) : undefined
}

const maxDescription = 2000

/** Tells the model which properties belong together. */
function describeVariants(variants: readonly Variant[]): string {
  const discriminator = findDiscriminator(variants)
  const lines = variants.map(({ properties, required }) => {
    const value = discriminator && listValues(properties.get(discriminator) ?? {})
    // A property may be required without being declared.
    const names = [...new Set([...properties.keys(), ...required])]
      .filter((name) => name !== discriminator)
      .map((name) => (required.has(name) ? name : `${name} (optional)`))
    const list = names.length === 0 ? 'nothing else' : names.join(', ')
    return value ? `- ${discriminator} ${JSON.stringify(value[0])}: ${list}` : `- ${list}`
  })
  const text = ['Use one of these sets of properties:', ...new Set(lines)].join('\n')
  return text.length > maxDescription ? `${text.slice(0, maxDescription)}…` : text
}

/** A property with one value in each variant, different in all of them. */
function findDiscriminator(variants: readonly Variant[]): string | undefined {
  const [first] = variants
  return [...(first?.required ?? [])].find((name) => {
    const values = variants.map(({ properties, required }) =>
      required.has(name) ? listValues(properties.get(name) ?? {}) : undefined,
    )
    return (
      values.every((list) => list?.length === 1) &&
      new Set(values.map((list) => list?.[0])).size === variants.length
    )
  })
}

const isSame = (one: Json, other: Json): boolean => JSON.stringify(one) === JSON.stringify(other)
const asObject = (value: unknown): JsonObject => (isPlainObject(value) ? (value as JsonObject) : {})
const asArray = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
