import { z } from 'zod'
import type { Contract, ContractReading, SlowPattern } from '../../capability/contract.ts'
import type { JsonObject } from '../../capability/json.ts'
import { whenDone } from '../../capability/when-done.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { toParse } from '../contract-from-standard-schema.ts'
import type { Direction } from '../read-contract.ts'
import { findSlowPatterns } from '../slow-patterns.ts'
import { findClass } from './live-types.ts'
import { adjustString } from './shown-strings.ts'
import { toJsonForm } from './to-json-form.ts'
import { checkSchemaCount, defOf, innerOfLazy, someSchema, type Zod } from './zod-children.ts'

/** Zod 4, also Zod Mini: docs/definitions.md has the table of what is shown and what arrives. */
export function contractFromZod(original: Zod, direction: Direction): ContractReading {
  const remarks = new Set<string>()
  const slowPatterns: SlowPattern[] = []
  const { schema, metadata, liveTypeOf } = toJsonForm(original, direction)
  const { $schema, ...body } = z.toJSONSchema(schema as z.ZodType, {
    io: direction,
    unrepresentable: 'any',
    metadata,
    override: ({ zodSchema, jsonSchema, path }) => {
      const { type } = zodSchema._zod.def
      const isDescribed = Object.keys(jsonSchema).some((key) => !annotations.has(key))
      const remark =
        type === 'custom' && isDescribed
          ? undefined
          : (liveTypeOf(zodSchema)?.remark?.(direction) ?? toLimitRemark(zodSchema, direction))
      if (remark !== undefined) remarks.add(`${toPointer(path) || 'the schema'}: ${remark}`)
      for (const pattern of listPatterns(zodSchema))
        slowPatterns.push(...findSlowPatterns(pattern, toPointer(path)))
      const declared = metadata.get(zodSchema)
      const hidden = adjustString(zodSchema, jsonSchema, {
        direction,
        declaredFormat: declared?.format,
      })
      for (const pattern of hidden)
        remarks.add(
          `${toPointer(path) || 'the schema'}: ${pattern} is enforced, but clients do not see it: JSON Schema cannot express it`,
        )
      dropSafeBounds(jsonSchema)
      // Some hosts leave out properties that are marked as read-only.
      if (type === 'readonly' && direction === 'input' && !declared?.readOnly)
        delete jsonSchema.readOnly
      const json = jsonSchema as Record<string, unknown>
      if (direction === 'output') loosenOutput(zodSchema, json)
      else requireProperties(zodSchema, json)
    },
  })
  const parse = toParse(schema as z.ZodType)
  return {
    contract: {
      schema: body as JsonObject,
      parse: direction === 'output' ? toNullWhenAbsent(parse) : parse,
      takesLiveValues: true,
    },
    remarks: [...remarks],
    slowPatterns,
  }
}

/** Values with which Zod itself throws: when both sides of an intersection return a Map, and frozen bytes. */
function toLimitRemark(schema: Zod, direction: Direction): string | undefined {
  const { type } = schema._zod.def
  const isUnmergeable = ({ _zod }: Zod) => _zod.def.type === 'map' || _zod.def.type === 'set'
  if (type === 'intersection' && someSchema(schema, direction, isUnmergeable))
    return 'Zod cannot merge a Map or a Set that both sides of an intersection return; use .extend()'
  return type === 'readonly' && canBeBytes(schema)
    ? 'Zod cannot freeze bytes; remove .readonly()'
    : undefined
}

function canBeBytes(schema: Zod, seen = new Set<Zod>()): boolean {
  if (seen.has(schema)) return false
  checkSchemaCount(seen.add(schema).size)
  const def = defOf(schema)
  const isInside = (inner: Zod) => canBeBytes(inner, seen)
  if (def.type === 'union') return def.options.some(isInside)
  if (def.type === 'lazy') return isInside(innerOfLazy(schema))
  if ('innerType' in def) return isInside(def.innerType)
  return def.type === 'pipe' ? isInside(def.out) : isBytesClass(findClass(schema))
}

const isBytesClass = (Class: unknown): boolean => Class === Uint8Array || Class === Buffer

const annotations = new Set(['title', 'description', 'default', 'examples', 'id', 'deprecated'])

/** An output schema promises structured content, and a missing result has none. */
const toNullWhenAbsent =
  (parse: Contract['parse']): Contract['parse'] =>
  (live) =>
    whenDone(parse(live), (parsed) =>
      parsed.ok && parsed.value === undefined ? { ok: true, value: null } : parsed,
    )

/** A union with a preprocessed member counts as optional in Zod, although no member accepts absence. */
function requireProperties(schema: Zod, json: Record<string, unknown>): void {
  const def = defOf(schema)
  if (def.type !== 'object') return
  const required = Object.keys(def.shape).filter((key) => !acceptsAbsence(def.shape[key] as Zod))
  if (required.length > 0) json.required = required
}

function acceptsAbsence(schema: Zod, known = new Map<Zod, boolean>()): boolean {
  const former = known.get(schema)
  if (former !== undefined) return former
  // A union can contain itself, through z.lazy().
  checkSchemaCount(known.set(schema, false).size)
  const result = decideAbsence(schema, (inner) => acceptsAbsence(inner, known))
  known.set(schema, result)
  return result
}

function decideAbsence(schema: Zod, accepts: (inner: Zod) => boolean): boolean {
  const def = defOf(schema)
  switch (def.type) {
    case 'union':
      return def.options.some(accepts)
    case 'intersection':
      return accepts(def.left) && accepts(def.right)
    case 'pipe':
      return accepts(def.in._zod.def.type === 'transform' ? def.out : def.in)
    case 'lazy':
      return accepts(innerOfLazy(schema))
    case 'catch':
    case 'nullable':
    case 'readonly':
    case 'promise':
      return accepts(def.innerType)
    default:
      return schema._zod.optin !== undefined
  }
}

/** What Zod shows of a result is too narrow: it closes objects, and forgets `undefined`. */
function loosenOutput(schema: Zod, json: Record<string, unknown>): void {
  const def = defOf(schema)
  // Zod removes unknown properties, but an intersection adds those back that its other side keeps.
  if (def.type === 'object' && !def.catchall) delete json.additionalProperties
  // Zod assigns every key of an enum, also with `undefined`, which JSON leaves out.
  if (def.type === 'record' && def.valueType._zod.optout === 'optional') delete json.required
  // `undefined` in an array becomes null in JSON.
  const orNull = (item: Zod | null, shown: unknown): unknown =>
    item?._zod.optout === 'optional' ? { anyOf: [shown, { type: 'null' }] } : shown
  if (def.type === 'array') json.items = orNull(def.element, json.items)
  if (def.type === 'set') json.items = orNull(def.valueType, json.items)
  if (def.type === 'tuple' && Array.isArray(json.prefixItems))
    json.prefixItems = json.prefixItems.map((shown, index) =>
      orNull(def.items[index] ?? null, shown),
    )
}

/** The patterns of `.regex()`; those of formats such as `z.email()` are Zod's own. */
const listPatterns = (schema: Zod): readonly RegExp[] =>
  (schema._zod.def.checks ?? []).flatMap((check) => {
    const { format, pattern } = check._zod.def as z.core.$ZodCheckStringFormatDef & {
      check: string
    }
    return format === 'regex' && pattern ? [pattern] : []
  })

export const isZod = (value: unknown): value is Zod =>
  typeof value === 'object' && value !== null && '_zod' in value

/** A raw shape `{ city: z.string() }` instead of `z.object()`, as older MCP examples pass it. */
export const isZodShape = (value: unknown): value is Record<string, Zod> =>
  isPlainObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isZod)

export const toZodObject = (shape: Record<string, Zod>): Zod => z.object(shape)

/** Saves tokens: Zod adds the bounds of safe integers. */
function dropSafeBounds(shown: z.core.JSONSchema.BaseSchema): void {
  if (shown.minimum === Number.MIN_SAFE_INTEGER) delete shown.minimum
  if (shown.maximum === Number.MAX_SAFE_INTEGER) delete shown.maximum
}
