import { z } from 'zod'
import type { Json } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Direction } from '../read-contract.ts'
import { reviveIntersection } from './intersection.ts'
import { findClass, type LiveType, toLiveType, toShownDefault } from './live-types.ts'
import { checkSchemaCount, defOf, replaceChildren, someSchema, type Zod } from './zod-children.ts'

type Metadata = z.core.$ZodRegistry<Record<string, unknown>>

/** A Zod schema that takes JSON and converts to JSON Schema, and the metadata of its copies. */
export interface JsonForm {
  readonly schema: Zod
  readonly metadata: Metadata
  /** The live type of a copy, for remarks. */
  liveTypeOf(schema: Zod): LiveType | undefined
}

/**
 * Copies a schema so that types which JSON does not have accept their JSON form. Each conversion runs
 * directly before the type's own check: Zod itself chooses the member of a union and follows recursion,
 * and the author's refinements see live values. A schema with JSON types only is returned as it is.
 */
export function toJsonForm(schema: Zod, direction: Direction): JsonForm {
  const copies = new Map<Zod, Zod>()
  const metadata = new CopiedMetadata()
  const liveTypes = new Map<Zod, LiveType>()
  const form = { metadata, liveTypeOf: (copy: Zod) => liveTypes.get(copy) }
  if (!someSchema(schema, direction, needsCopy)) return { ...form, schema }

  const toCopy = (original: Zod): Zod => {
    const existing = copies.get(original)
    if (existing) return existing
    const replacement = replaceChildren(original, direction, toCopy)
    const copy = copyWith(original, replacement)
    copies.set(original, copy)
    checkSchemaCount(copies.size)
    metadata.addCopy(copy, original)
    const liveType = toLiveType(copy)
    if (liveType) {
      liveTypes.set(copy, liveType)
      showAs(copy, liveType, direction)
      convertAround(copy, liveType, direction)
    } else if (isDefault(copy)) showDefault(copy)
    else if (direction === 'input') reviveIntersection(copy)
    return copy
  }
  return { ...form, schema: toCopy(schema) }
}

const needsCopy = (schema: Zod): boolean =>
  toLiveType(schema) !== undefined || (isDefault(schema) && !isJsonDefault(schema))

const isDefault = (schema: Zod): boolean =>
  ['default', 'prefault', 'catch'].includes(schema._zod.def.type)

function defaultOf(schema: Zod): unknown {
  const def = defOf(schema)
  if (def.type === 'default' || def.type === 'prefault') return def.defaultValue
  if (def.type !== 'catch') return undefined
  try {
    return def.catchValue(undefined as never)
  } catch {
    // It depends on the value that is replaced.
    return undefined
  }
}

const isJsonDefault = (schema: Zod): boolean => isJson(defaultOf(schema))

const isJson = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.every(isJson)
    : isPlainObject(value)
      ? Object.values(value).every(isJson)
      : value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)

/** Zod keeps metadata by schema object; a copy has that of its original. */
class CopiedMetadata extends z.core.$ZodRegistry<Record<string, unknown>> {
  readonly #originals = new Map<Zod, Zod>()

  addCopy(copy: Zod, original: Zod): void {
    this.#originals.set(copy, original)
  }

  override get(schema: Zod) {
    return z.globalRegistry.get(this.#originals.get(schema) ?? schema)
  }
}

function copyWith(original: Zod, replacement: Record<string, () => unknown>): Zod {
  const { def, check, toJSONSchema } = original._zod as Zod['_zod'] & {
    check?: unknown
  }
  const getters = Object.entries(replacement).map(([key, read]) => {
    let value: { readonly read: unknown } | undefined
    const get = () => {
      value ??= { read: read() }
      return value.read
    }
    return [key, { get, enumerable: true, configurable: true }] as const
  })
  // Without the schema that a `z.lazy` keeps: it is the one that is replaced.
  const { _cachedInner: _, ...own } = Object.getOwnPropertyDescriptors(def) as PropertyDescriptorMap
  const copyDef = Object.defineProperties({}, { ...own, ...Object.fromEntries(getters) })
  const copy: Zod = z.core.clone(original, copyDef as typeof def)
  // Zod sets these on the object after it is made.
  const Class = findClass(original)
  if (Class !== undefined) Object.assign(copy._zod, { check, bag: { ...copy._zod.bag, Class } })
  if (toJSONSchema) copy._zod.toJSONSchema = toJSONSchema
  return copy
}

function showAs(schema: Zod, liveType: LiveType, direction: Direction): void {
  schema._zod.processJSONSchema = (context, json, params) => {
    const child = (inner: Zod, ...path: (string | number)[]) =>
      z.core.processSchema(inner, context, {
        ...params,
        path: [...params.path, ...path],
      }) as Record<string, Json>
    Object.assign(json, liveType.show(child, direction))
  }
}

/** Wraps `run`, through which every schema is parsed, whatever contains it. */
function convertAround(
  schema: Zod,
  { revive, refuse, prepare }: LiveType,
  direction: Direction,
): void {
  const { run } = schema._zod
  if (direction === 'input' && revive)
    schema._zod.run = (payload, context) => {
      payload.value = revive(payload.value)
      return run(payload, context)
    }
  if (direction === 'output' && (refuse || prepare))
    schema._zod.run = (payload, context) => {
      const result = run(payload, context)
      const prepareResult = (done: typeof payload) => {
        const { value } = done
        const message = done.issues.length === 0 ? refuse?.(value) : undefined
        if (message !== undefined) done.issues.push({ code: 'custom', message, input: value })
        else if (prepare) done.value = prepare(value)
        return done
      }
      return result instanceof Promise ? result.then(prepareResult) : prepareResult(result)
    }
}

/** Zod writes defaults with JSON.stringify, which makes `{}` of a Map and fails for a bigint. */
function showDefault(schema: Zod): void {
  const { processJSONSchema } = schema._zod
  schema._zod.processJSONSchema = (context, json, params) => {
    // Schemas of Zod Mini have no method of their own.
    const process = processJSONSchema ?? toProcessor(schema, context)
    process(context, json, params)
    const key = schema._zod.def.type === 'prefault' ? '_prefault' : 'default'
    if (key === '_prefault' && context.io === 'output') return
    delete json[key]
    const value = toShownDefault(defaultOf(schema))
    if (value !== undefined) json[key] = value
  }
}

type Process = NonNullable<Zod['_zod']['processJSONSchema']>

const toProcessor =
  (schema: Zod, { processors }: Parameters<Process>[0]): Process =>
  (context, json, params) =>
    processors[defOf(schema).type]?.(schema as never, context, json, params)
