import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import {
  annotationKeywords,
  schemaKeywords,
  schemaMapKeywords,
} from '../../json/schema/keywords.ts'
import { type Reference, type References, referencesOf } from '../../json/schema/references.ts'
import type { LoweredSchema } from './lower-schema.ts'

/** Levels of a recursive schema that are shown without references. */
const maxRecursion = 3

const maxCutLength = 32 * 1024

/** Replaces references by the schemas that they name, as far as the result stays small. */
export function inlineReferences(schema: JsonObject, mode: 'inline' | 'cut'): LoweredSchema {
  if (!hasReference.test(JSON.stringify(schema))) return { schema, losses: [] }
  const document = referencesOf(schema)
  if (document.all.length === 0) return { schema, losses: [] }
  return mode === 'cut' ? cutRecursion(schema, document) : keepRecursion(schema, document)
}

const hasReference = /"\$(?:ref|dynamicRef)":/

function keepRecursion(schema: JsonObject, document: References): LoweredSchema {
  const maxLength = 2 * JSON.stringify(schema).length + 4096
  const targets = listTargets(document)
  const kept = new Set<JsonObject>()
  // Each round finds targets that contain themselves, until no more are found.
  for (let count = -1; count < kept.size; ) {
    count = kept.size
    const expansion = new Expansion(document, targets, { kept, maxDepth: 1, maxLength })
    const result = expansion.expandRoot(schema)
    if (!result) break
    for (const target of expansion.recursive) kept.add(target)
    if (kept.size === count) return { schema: result, losses: [] }
  }
  const all = new Expansion(document, targets, {
    kept: new Set(targets.keys()),
    maxDepth: 1,
    maxLength: Number.POSITIVE_INFINITY,
  })
  const loss = `keeps its references, because without them it would be longer than ${maxLength} characters`
  return { schema: all.expandRoot(schema) ?? schema, losses: [loss] }
}

function cutRecursion(schema: JsonObject, document: References): LoweredSchema {
  const targets = listTargets(document)
  for (let maxDepth = maxRecursion; maxDepth >= 0; maxDepth--) {
    const maxLength = maxDepth === 0 ? Number.POSITIVE_INFINITY : maxCutLength
    const expansion = new Expansion(document, targets, { kept: new Set(), maxDepth, maxLength })
    const result = expansion.expandRoot(schema)
    if (!result) continue
    const names = [...expansion.cut].map((target) => targets.get(target)).sort()
    const losses =
      names.length === 0
        ? []
        : [`shows ${names.join(', ')} only to ${maxDepth} level${maxDepth === 1 ? '' : 's'}`]
    return { schema: result, losses }
  }
  return { schema, losses: [] }
}

/** The schemas that references name, with a name for each below `#/$defs`. */
function listTargets(document: References): ReadonlyMap<JsonObject, string> {
  const names = new Map<JsonObject, string>()
  const taken = new Set<string>()
  for (const { target, text } of document.all) {
    if (!isPlainObject(target) || names.has(target as JsonObject)) continue
    const last = decodeURIComponent(text.split(/[/#]/).at(-1) ?? '')
    const base = last.replaceAll(/~[01]|[^A-Za-z0-9_.-]/g, '_') || 'root'
    let name = base
    for (let number = 2; taken.has(name); number++) name = `${base}_${number}`
    taken.add(name)
    names.set(target as JsonObject, name)
  }
  return names
}

interface ExpansionOptions {
  /** Targets that stay references. */
  readonly kept: ReadonlySet<JsonObject>
  /** How often a target may be inside itself. */
  readonly maxDepth: number
  readonly maxLength: number
}

class TooLong extends Error {}

/** One copy of a schema without the references that are not kept. */
class Expansion {
  /** Targets that contain themselves. */
  readonly recursive = new Set<JsonObject>()
  /** Targets that were left out, because they are nested too deeply. */
  readonly cut = new Set<JsonObject>()
  readonly #references: ReadonlyMap<JsonObject, Reference>
  readonly #targets: ReadonlyMap<JsonObject, string>
  readonly #options: ExpansionOptions
  readonly #used = new Set<JsonObject>()
  #remaining: number

  constructor(
    document: References,
    targets: ReadonlyMap<JsonObject, string>,
    options: ExpansionOptions,
  ) {
    this.#references = new Map(document.all.map((one) => [one.node.schema, one]))
    this.#targets = targets
    this.#options = options
    this.#remaining = options.maxLength
  }

  /** `undefined` when the result is too long. */
  expandRoot(root: JsonObject): JsonObject | undefined {
    try {
      const result = this.#expand(root, [root])
      const $defs: Record<string, Json> = {}
      // Definitions can use further ones while they are written.
      for (const target of this.#used)
        $defs[this.#targets.get(target) ?? ''] = this.#expand(target, [target])
      const names = Object.keys($defs).sort()
      const defs = Object.fromEntries(names.map((name) => [name, $defs[name] ?? {}]))
      return names.length === 0 ? result : { ...result, $defs: defs }
    } catch (error) {
      if (error instanceof TooLong) return undefined
      throw error
    }
  }

  #expand(schema: JsonObject, open: readonly JsonObject[]): JsonObject {
    const reference = this.#references.get(schema)
    const own: Record<string, Json> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (droppedKeywords.has(keyword) || value === undefined) continue
      this.#spend(keyword.length + 4)
      own[keyword] = this.#expandValue(keyword, value, open)
    }
    return reference ? this.#expandReference(reference, own, open) : own
  }

  #expandValue(keyword: string, value: Json, open: readonly JsonObject[]): Json {
    const expand = (item: Json): Json =>
      isPlainObject(item) ? this.#expand(item as JsonObject, open) : item
    if (schemaKeywords.has(keyword)) return Array.isArray(value) ? value.map(expand) : expand(value)
    if (schemaMapKeywords.has(keyword) && isPlainObject(value))
      return Object.fromEntries(
        Object.entries(value as Record<string, Json>).map(([name, item]) => {
          this.#spend(name.length + 4)
          return [name, expand(item)]
        }),
      )
    this.#spend(JSON.stringify(value).length)
    return value
  }

  #expandReference(
    { target }: Reference,
    own: Record<string, Json>,
    open: readonly JsonObject[],
  ): JsonObject {
    if (!isPlainObject(target)) return target === false ? { not: {} } : own
    const schema = target as JsonObject
    if (this.#options.kept.has(schema)) {
      this.#used.add(schema)
      const name = this.#targets.get(schema) ?? ''
      return { $ref: `#/$defs/${name}`, ...own }
    }
    this.#spend(referenceLength)
    const depth = open.filter((one) => one === schema).length
    if (depth > 0) this.recursive.add(schema)
    if (depth >= Math.max(1, this.#options.maxDepth) || this.#options.maxDepth === 0) {
      this.cut.add(schema)
      return { ...describeCut(schema, this.#targets.get(schema)), ...own }
    }
    return combine(this.#expand(schema, [...open, schema]), own)
  }

  #spend(characters: number): void {
    this.#remaining -= characters
    if (this.#remaining < 0) throw new TooLong()
  }
}

/** A reference costs something, even to an empty schema: chains of references are long. */
const referenceLength = 8

/** No reference needs them any more. */
const droppedKeywords = new Set([
  '$ref',
  '$dynamicRef',
  '$defs',
  'definitions',
  '$id',
  '$anchor',
  '$dynamicAnchor',
])

const describeCut = ({ type }: JsonObject, name: string | undefined): JsonObject => ({
  ...(type !== undefined && { type }),
  description: `Nested further in the same way (${name}).`,
})

/** Annotations beside a reference replace those of its target; other keywords apply together with it. */
function combine(target: JsonObject, own: JsonObject): JsonObject {
  const annotations: Record<string, Json | undefined> = {}
  const assertions: Record<string, Json | undefined> = {}
  for (const [keyword, value] of Object.entries(own))
    (annotationKeywords.has(keyword) ? annotations : assertions)[keyword] = value
  // The type that MCP requires beside a reference at the root.
  if (assertions.type !== undefined && assertions.type === target.type) delete assertions.type
  if (Object.keys(assertions).length === 0) return { ...target, ...annotations }
  const { type, ...rest } = assertions
  if (Object.keys(rest).length === 0 && target.type === undefined)
    return { type, ...target, ...annotations }
  return { ...annotations, ...(type !== undefined && { type }), allOf: [target, rest] }
}
