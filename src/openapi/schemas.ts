import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { findPatternFault } from '../patterns/linear-pattern.ts'
import { isLargeFormat, withDigits } from './digit-texts.ts'
import {
  type DocumentPath,
  type Fields,
  isLocalReference,
  lookUp,
  maxReferences,
  type OpenApiDocument,
  resolve,
  toChainText,
  toUnreadableText,
} from './document.ts'
import { Findings } from './findings.ts'
import { fromBooleanLimits, fromVersion30 } from './from-version-30.ts'
import {
  droppedKeywords,
  namedSchemaKeywords,
  schemaKeywords,
  schemaListKeywords,
  schemaTypes,
  valueTypes,
} from './schema-keywords.ts'

/** `readOnly` properties are not part of an input, `writeOnly` ones not of an output. */
export type SchemaDirection = 'input' | 'output'

/** The names under `$defs` that a schema refers to, and what was found in it. */
export class SchemaUse {
  readonly names = new Set<string>()
  /** Names whose content was put in place of the reference. */
  readonly inlined = new Set<string>()
  readonly findings = new Findings()

  add({ names, inlined, findings }: SchemaUse): void {
    for (const name of names) this.names.add(name)
    for (const name of inlined) this.inlined.add(name)
    this.findings.add(findings)
  }
}

interface Definition {
  schema: Json
  readonly use: SchemaUse
}

/** What the schemas that apply to the same value, by `allOf` or a reference, have in common. */
interface SchemaGroup {
  /** Properties that are not part of the direction: none of the schemas may require them. */
  readonly excluded: ReadonlySet<string>
  /** References in whose place the schema was put, because others need what it requires. */
  readonly inlined: Set<string>
}

const noGroup: SchemaGroup = { excluded: new Set(), inlined: new Set() }

/** Keywords whose schemas apply to the same value. */
const inPlace: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf'])

/** Of a group: more would make loading slow. */
const maxMembers = 200

interface LocatedSchema {
  readonly value: unknown
  readonly path: DocumentPath
}

interface LocatedMember extends LocatedSchema {
  readonly value: Fields
}

/**
 * Converts the schemas of a document to JSON Schema 2020-12. Referenced schemas are converted once and
 * shared by all operations, each of which lists under `$defs` only what it refers to.
 */
export class SchemaTranslator {
  readonly #document: OpenApiDocument
  readonly #direction: SchemaDirection
  readonly #takesDigits: boolean
  readonly #names = new Map<string, string>()
  readonly #definitions = new Map<string, Definition>()
  /** Definitions whose remarks an operation has got: the next ones would only repeat them. */
  readonly #remarked = new Set<string>()
  /** Definitions that are referred to, but not yet converted: a chain of references must not overflow the stack. */
  readonly #pending: (() => void)[] = []

  constructor(
    document: OpenApiDocument,
    direction: SchemaDirection,
    /** `takesDigits`: integers can also be texts of their digits. */
    { takesDigits = false }: { readonly takesDigits?: boolean } = {},
  ) {
    this.#takesDigits = takesDigits
    this.#document = document
    this.#direction = direction
  }

  /**
   * Converts a schema; references stay references, and their names are added to `use`. `parent` is the group
   * of a schema that applies to the same value.
   */
  translate(schema: unknown, path: DocumentPath, use: SchemaUse, parent?: SchemaGroup): Json {
    if (typeof schema === 'boolean') return schema
    if (!isPlainObject(schema)) {
      use.findings.remark(path, 'This is not a schema; any value is accepted here.')
      return true
    }
    const group = this.#toGroup(schema, path, parent)
    const { $ref, ...siblings } = schema
    if (typeof $ref !== 'string') return this.#keywords(schema, path, use, group)
    const reference = this.#refer($ref, path, use, group)
    // OpenAPI 3.0 ignores keywords beside `$ref`.
    if (this.#document.isVersion30 || Object.keys(siblings).length === 0) return reference
    const translated = this.#keywords(siblings, path, use, group)
    if (typeof reference.$ref === 'string' || Object.keys(reference).length === 0)
      return { ...translated, ...reference }
    return {
      ...translated,
      allOf: [...((translated.allOf as Json[] | undefined) ?? []), reference],
    }
  }

  /**
   * The `$defs` of a schema, with everything they refer to. Their faults are added to `use`; their remarks
   * only once, to the first use without faults, because those of an operation with faults are not reported.
   */
  definitions(use: SchemaUse): JsonObject {
    this.#convertPending()
    const definitions: Record<string, Json> = {}
    // Names that are added while iterating are visited too.
    const names = new Set(use.names)
    for (const name of names) {
      const definition = this.#definitions.get(name)
      if (!definition) continue
      definitions[name] = definition.schema
      use.findings.faults.push(...definition.use.findings.faults)
      for (const other of definition.use.names) names.add(other)
    }
    if (use.findings.faults.length === 0) this.#addRemarks([...names, ...use.inlined], use)
    return Object.keys(definitions).length > 0 ? { $defs: definitions } : {}
  }

  /** The schema under a name in `$defs`. */
  definition(name: string): Json | undefined {
    this.#convertPending()
    return this.#definitions.get(name)?.schema
  }

  /** Adds what a definition refers to and what was found in it, for a schema that contains its content. */
  inline(name: string, use: SchemaUse): void {
    this.#convertPending()
    const definition = this.#definitions.get(name)
    if (!definition) return
    use.names.delete(name)
    use.inlined.add(name)
    for (const other of definition.use.names) use.names.add(other)
    use.findings.faults.push(...definition.use.findings.faults)
  }

  #addRemarks(names: readonly string[], { findings }: SchemaUse): void {
    for (const name of names) {
      const definition = this.#definitions.get(name)
      if (!definition || this.#remarked.has(name)) continue
      this.#remarked.add(name)
      for (const { path, message } of definition.use.findings.remarks)
        findings.remark(path, message)
      for (const { path, message } of definition.use.findings.notes) findings.note(path, message)
    }
  }

  #keywords(schema: Fields, path: DocumentPath, use: SchemaUse, group: SchemaGroup): JsonObject {
    const result: Record<string, Json> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      const childPath = [...path, keyword]
      if (keyword === '__proto__' || droppedKeywords.has(keyword) || keyword.startsWith('x-'))
        continue
      if (value === undefined) continue
      if (!isValueType(keyword, value)) {
        use.findings.remark(
          childPath,
          `${keyword} cannot be ${JSON.stringify(value)?.slice(0, 40)}, and is ignored.`,
        )
        continue
      }
      if (namedSchemaKeywords.has(keyword) && isPlainObject(value))
        result[keyword] = this.#namedSchemas(value, childPath, keyword === 'properties', use)
      else if (schemaListKeywords.has(keyword) && Array.isArray(value))
        result[keyword] = value.map((child, at) =>
          this.translate(child, [...childPath, at], use, inPlace.has(keyword) ? group : undefined),
        )
      else if (schemaKeywords.has(keyword)) result[keyword] = this.translate(value, childPath, use)
      else result[keyword] = value as Json
    }
    if (this.#direction === 'input' || isPlainObject(schema.discriminator)) fromExclusive(result)
    if (schema.example !== undefined) result.examples = [schema.example as Json]
    this.#filterRequired(schema, result, path, use, group)
    removeInvalid(result, path, use)
    fromBooleanLimits(result)
    const shown = this.#document.isVersion30 ? fromVersion30(result, schema) : result
    return this.#takesDigits && isLargeFormat(schema.format) ? withDigits(shown) : shown
  }

  #namedSchemas(
    schemas: Fields,
    path: DocumentPath,
    areProperties: boolean,
    use: SchemaUse,
  ): JsonObject {
    const result: Record<string, Json> = {}
    for (const [name, child] of Object.entries(schemas)) {
      const childPath = [...path, name]
      if (name === '__proto__') use.findings.remark(childPath, 'The name __proto__ is left out.')
      else if (!areProperties || this.#isIncluded(child, childPath))
        result[name] = this.translate(child, childPath, use)
    }
    return result
  }

  #refer(reference: string, path: DocumentPath, use: SchemaUse, group: SchemaGroup): JsonObject {
    const target = this.#findTarget(reference)
    if (target === 'too_long') {
      use.findings.fault([...path, '$ref'], toChainText(reference))
      return {}
    }
    if (!target) {
      const fault = this.#document.unreadable.get(reference)
      if (fault !== undefined)
        use.findings.fault([...path, '$ref'], toUnreadableText(reference, fault))
      else if (isLocalReference(reference))
        use.findings.fault([...path, '$ref'], `${reference} does not exist in this document.`)
      else
        use.findings.remark(
          path,
          `${reference} is outside of this document and is not fetched; any value is accepted here.`,
        )
      return {}
    }
    if (this.#requiresExcluded(target, group) && !group.inlined.has(reference)) {
      group.inlined.add(reference)
      const schema = this.translate(target.value, target.path, use, group)
      return isPlainObject(schema) ? (schema as JsonObject) : {}
    }
    let name = this.#names.get(reference)
    if (name === undefined) {
      name = toDefinitionName(target.path)
      this.#names.set(reference, name)
      if (!this.#definitions.has(name)) {
        const definition: Definition = { schema: true, use: new SchemaUse() }
        this.#definitions.set(name, definition)
        this.#pending.push(() => {
          definition.schema = this.translate(target.value, target.path, definition.use)
        })
      }
    }
    use.names.add(name)
    return { $ref: `#/$defs/${name}` }
  }

  /** A schema that is only a reference stands for its target: every operation would list the whole chain. */
  #findTarget(reference: string): LocatedSchema | 'too_long' | undefined {
    const first = lookUp(this.#document, reference)
    const seen = new Set<unknown>()
    let target = first
    while (target && isPlainObject(target.value) && seen.size < maxReferences) {
      const { $ref, ...siblings } = target.value
      const isOnlyReference = this.#document.isVersion30 || Object.keys(siblings).length === 0
      const next =
        typeof $ref === 'string' && isOnlyReference ? lookUp(this.#document, $ref) : undefined
      if (!next) return target
      // A loop is reported where its schema is checked.
      if (seen.has(next.value)) return first
      seen.add(next.value)
      target = next
    }
    return seen.size < maxReferences ? target : 'too_long'
  }

  #convertPending(): void {
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) next()
  }

  /** `false` for `readOnly` properties of an input and `writeOnly` properties of an output. */
  #isIncluded(property: unknown, path: DocumentPath): boolean {
    if (!isPlainObject(property)) return true
    const { $ref } = property
    const keyword = this.#direction === 'input' ? 'readOnly' : 'writeOnly'
    // OpenAPI 3.0 ignores keywords beside `$ref`.
    if (!this.#document.isVersion30 && property[keyword] === true) return false
    const target =
      typeof $ref === 'string'
        ? // A reference that cannot be resolved is reported by `translate`.
          resolve(this.#document, property, path, new Findings())?.value
        : property
    return target?.[keyword] !== true
  }

  /** The group of a schema: what its parent excludes, and what it and the parts of its `allOf` exclude. */
  #toGroup(schema: Fields, path: DocumentPath, parent: SchemaGroup | undefined): SchemaGroup {
    const { $ref, allOf, ...others } = schema
    const isCombined =
      Array.isArray(allOf) || ($ref !== undefined && Object.keys(others).length > 0)
    if (!isCombined) return parent ?? noGroup
    const own = this.#listExcluded({ value: schema, path })
    const excluded = new Set([...(parent?.excluded ?? []), ...own])
    return excluded.size === 0 ? noGroup : { excluded, inlined: parent?.inlined ?? new Set() }
  }

  /** Properties of a schema, or of the parts of its `allOf`, that are not part of the direction. */
  #listExcluded(schema: LocatedSchema): ReadonlySet<string> {
    const excluded = new Set<string>()
    for (const { value, path } of this.#listMembers(schema, ['allOf']))
      if (isPlainObject(value.properties))
        for (const [name, property] of Object.entries(value.properties))
          if (!this.#isIncluded(property, [...path, 'properties', name])) excluded.add(name)
    return excluded
  }

  /** True if a schema requires what others of its group exclude, and cannot know it. */
  #requiresExcluded(target: LocatedSchema, { excluded }: SchemaGroup): boolean {
    if (excluded.size === 0) return false
    const required = this.#listMembers(target, [...inPlace])
      .flatMap(({ value }) => (Array.isArray(value.required) ? value.required : []))
      .filter((name) => excluded.has(name))
    if (required.length === 0) return false
    const own = this.#listExcluded(target)
    return required.some((name) => !own.has(name))
  }

  /** The schemas that apply to the same value: the schema itself, and those that it combines. */
  #listMembers(schema: LocatedSchema, combiners: readonly string[]): readonly LocatedMember[] {
    const members: LocatedMember[] = []
    const seen = new Set<unknown>()
    const pending: LocatedSchema[] = [schema]
    for (let next = pending.pop(); next && seen.size < maxMembers; next = pending.pop()) {
      const { value, path } = next
      if (!isPlainObject(value) || seen.has(value)) continue
      seen.add(value)
      const target = typeof value.$ref === 'string' ? lookUp(this.#document, value.$ref) : undefined
      if (target) pending.push(target)
      if (target && this.#document.isVersion30) continue
      members.push({ value, path })
      for (const keyword of combiners) {
        const parts = value[keyword]
        if (Array.isArray(parts))
          for (const [index, part] of parts.slice(0, maxMembers).entries())
            pending.push({ value: part, path: [...path, keyword, index] })
      }
    }
    return members
  }

  #filterRequired(
    schema: Fields,
    result: Record<string, Json>,
    path: DocumentPath,
    { findings }: SchemaUse,
    { excluded }: SchemaGroup,
  ): void {
    const { properties, required } = schema
    if (!Array.isArray(required)) {
      // A boolean is draft-03: it marks the property itself, and means nothing here.
      if (required !== undefined) {
        delete result.required
        findings.remark([...path, 'required'], 'It must be a list of names, and is ignored.')
      }
      return
    }
    const names = required.filter(
      (name) =>
        !excluded.has(name) &&
        (!isPlainObject(properties) ||
          !Object.hasOwn(properties, name) ||
          this.#isIncluded(properties[name], [...path, 'properties', name])),
    )
    if (names.length > 0) result.required = [...new Set(names)] as Json
    else delete result.required
  }
}

/**
 * `oneOf` refuses every value that several of its schemas accept, and many documents have schemas that overlap: of
 * an input the API is the judge, and with a discriminator its value selects the schema.
 */
function fromExclusive(result: Record<string, Json>): void {
  const { oneOf, anyOf, allOf } = result
  if (!Array.isArray(oneOf)) return
  delete result.oneOf
  if (anyOf === undefined) result.anyOf = oneOf
  else result.allOf = [...((allOf as Json[] | undefined) ?? []), { anyOf: oneOf }]
}

function isValueType(keyword: string, value: unknown): boolean {
  const allowed = Object.hasOwn(valueTypes, keyword) ? valueTypes[keyword] : undefined
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  return allowed === undefined || allowed.includes(type)
}

/** The last segment for components; otherwise the whole path, so that names do not depend on an order. */
function toDefinitionName(path: DocumentPath): string {
  const isComponent = path.length === 3 && path[0] === 'components' && path[1] === 'schemas'
  const name = isComponent ? String(path[2]) : path.join('_')
  const plainName = name.replaceAll(/[^\w.-]/g, '_')
  if (plainName === name && name.length <= maxNameLength && isComponent) return name
  const digest = createHash('sha256').update(path.join('/')).digest('hex').slice(0, 8)
  return `${plainName.slice(-(maxNameLength - digest.length - 1))}_${digest}`
}

const maxNameLength = 100

/** An invalid type or pattern would make the whole operation unusable. */
function removeInvalid(
  result: Record<string, Json>,
  path: DocumentPath,
  { findings }: SchemaUse,
): void {
  const typeList: readonly unknown[] = result.type === undefined ? [] : [result.type].flat()
  const unknownType = typeList.find((type) => typeof type !== 'string' || !schemaTypes.has(type))
  if (unknownType !== undefined) {
    findings.remark(
      path,
      `${JSON.stringify(unknownType)} is not a JSON Schema type; any value is accepted here.`,
    )
    delete result.type
  }
  if (typeof result.pattern === 'string') {
    const fault = findPatternFault(result.pattern)
    if (fault !== undefined) {
      findings.remark([...path, 'pattern'], `The pattern ${fault}, and is not checked.`)
      delete result.pattern
    }
  }
  if (Array.isArray(result.enum)) {
    // JSON Schema requires unique values, and at least one.
    const values = [...new Map(result.enum.map((one) => [JSON.stringify(one), one])).values()]
    if (values.length === 0) delete result.enum
    else result.enum = values
  }
}
