import type { Capability, Prompt, PromptParameter, View } from '../../capability/capability.ts'
import type { Contract } from '../../capability/contract.ts'
import type { Json, JsonObject } from '../../capability/json.ts'
import type { About } from '../../capability/source.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { escapeHiddenAsJson, findHidden, removeHidden } from '../../json/hidden-characters.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'

/** Hidden characters in one text of a definition. */
export interface HiddenText {
  /** JSON pointer into the definition, such as `/input/properties/to/description`. */
  readonly place: string
  /** Code points, such as `U+200B`. */
  readonly characters: readonly string[]
  /** The text is part of the contract: without these characters, calls would be refused. */
  readonly isFixed: boolean
}

export interface Cleaned<T> {
  /** Without hidden characters, except in fixed texts. The argument itself when there are none. */
  readonly clean: T
  readonly found: readonly HiddenText[]
}

/** Removes hidden characters from every text of a capability, view or prompt that clients see. */
export function cleanCapability<T extends Capability>(capability: T): Cleaned<T> {
  const { name, title, description, input, output, extras, rules } = capability
  const { uri, mimeType, parameters }: Partial<View & Prompt> = capability
  const schemas = [input.schema, output?.schema]
  if (isPlain([name, title, description, schemas, extras, rules, uri, mimeType, parameters]))
    return { clean: capability, found: [] }
  const cleaner = new TextCleaner()
  const texts = dropUndefined({
    name: toCleanName(cleaner.text(name, ['name']), capability),
    title: cleaner.optionalText(title, ['title']),
    description: cleaner.text(description, ['description']),
    input: cleaner.contract(input, ['input']),
    output: output && cleaner.contract(output, ['output']),
    extras: cleaner.json(toJson(extras), ['extras']),
    mimeType: cleaner.optionalText(mimeType, ['mimeType']),
    parameters: parameters?.map((one, index) => cleaner.parameter(one, index)),
  })
  cleaner.checkFixed(uri, ['uri'])
  cleaner.checkFixed(rules, ['rules'])
  const { found } = cleaner
  return { clean: found.length === 0 ? capability : { ...capability, ...texts }, found }
}

/**
 * A tool keeps its declared name here, because the catalog makes it portable: without its hidden
 * characters it could take the name of another tool. Views are found by URI, their name is a text.
 */
const toCleanName = (cleanName: string, capability: Capability): string =>
  'uri' in capability ? cleanName : capability.name

/** Removes hidden characters from the description of a source. */
export function cleanAbout(about: About): Cleaned<About> {
  if (isPlain(about)) return { clean: about, found: [] }
  const cleaner = new TextCleaner()
  const clean = cleaner.json(toJson(about), ['about']) as object as About
  return { clean, found: cleaner.found }
}

/** Quick check that most definitions pass: printable ASCII only. JSON escapes control characters. */
const isPlain = (value: unknown): boolean => !/\\[bfru]|[^ -~]/.test(JSON.stringify(value))

const toJson = (value: unknown): Json => JSON.parse(JSON.stringify(value))

type JsonRecord = Readonly<Record<string, Json>>
type Place = readonly (string | number)[]

class TextCleaner {
  readonly found: HiddenText[] = []

  text(text: string, place: Place): string {
    return this.#record(text, place, false) ? removeHidden(text) : text
  }

  optionalText(text: string | undefined, place: Place): string | undefined {
    return text === undefined ? undefined : this.text(text, place)
  }

  /** Removes hidden characters from all strings and keys of a value. */
  json(value: Json, place: Place): Json {
    if (typeof value === 'string') return this.text(value, place)
    if (Array.isArray(value)) return value.map((item, index) => this.json(item, [...place, index]))
    if (!isPlainObject(value)) return value
    return Object.fromEntries(
      Object.entries(value as JsonRecord).map(([key, item]) => [
        this.text(key, [...place, key]),
        this.json(item, [...place, key]),
      ]),
    )
  }

  parameter(parameter: PromptParameter, index: number): PromptParameter {
    const place = ['parameters', index]
    this.checkFixed(parameter.name, [...place, 'name'])
    return dropUndefined({
      ...parameter,
      description: this.optionalText(parameter.description, [...place, 'description']),
    })
  }

  contract(contract: Contract, place: Place): Contract {
    const count = this.found.length
    const schema = this.#schema(toJson(contract.schema), place) as JsonObject
    return this.found.length === count
      ? contract
      : { ...contract, schema, parse: (value) => contract.parse(value) }
  }

  /** Records hidden characters in strings and keys that must stay as they are. */
  checkFixed(value: unknown, place: Place): void {
    if (typeof value === 'string') this.#record(value, place, true)
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) {
        this.#record(key, [...place, key], true)
        this.checkFixed(item, [...place, key])
      }
  }

  #schema(schema: Json, place: Place): Json {
    if (Array.isArray(schema))
      return schema.map((item, index) => this.#schema(item, [...place, index]))
    if (!isPlainObject(schema)) return this.json(schema, place)
    const entries = Object.entries(schema as JsonRecord)
    return Object.fromEntries(
      entries.map(([keyword, value]) => [keyword, this.#keyword(keyword, value, place)]),
    )
  }

  #keyword(keyword: string, value: Json, parent: Place): Json {
    const place = [...parent, keyword]
    if (fixedKeywords.has(keyword)) {
      this.checkFixed(value, place)
      return value
    }
    if (annotationKeywords.has(keyword)) return this.json(value, place)
    // In a pattern an escape has the same meaning as the character itself.
    if (keyword === 'pattern' && typeof value === 'string') return this.#pattern(value, place)
    if (!schemaMaps.has(keyword) || !isPlainObject(value)) return this.#schema(value, place)
    return Object.fromEntries(
      Object.entries(value as JsonRecord).map(([name, schema]) => {
        if (keyword === 'patternProperties')
          return [this.#pattern(name, [...place, name]), this.#schema(schema, [...place, name])]
        this.checkFixed(name, [...place, name])
        return [name, this.#schema(schema, [...place, name])]
      }),
    )
  }

  #pattern(pattern: string, place: Place): string {
    return this.#record(pattern, place, false) ? escapeHiddenAsJson(pattern) : pattern
  }

  #record(text: string, place: Place, isFixed: boolean): boolean {
    const characters = findHidden(text)
    if (characters.length > 0) this.found.push({ place: toPointer(place), characters, isFixed })
    return characters.length > 0
  }
}

const schemaMaps = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const annotationKeywords = new Set(['title', 'description', '$comment', 'default', 'examples'])
const fixedKeywords = new Set([
  'enum',
  'const',
  'required',
  'dependentRequired',
  '$ref',
  '$dynamicRef',
  '$id',
  '$anchor',
  '$dynamicAnchor',
])
