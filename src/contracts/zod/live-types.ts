import { z } from 'zod'
import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toJsonValueNow } from '../../json/to-json-value.ts'
import type { Direction } from '../read-contract.ts'
import { parseDate } from './parse-date.ts'
import { type Def, defOf, type Zod } from './zod-children.ts'

type Schema = Record<string, Json>

/** How a type that JSON does not have travels as JSON. */
export interface LiveType {
  /** The JSON Schema that clients see; `child` converts a schema inside. */
  show(child: (schema: Zod, ...path: (string | number)[]) => Schema, direction: Direction): Schema
  /** Turns the JSON into the live value; anything else is returned unchanged, for Zod to refuse. */
  revive?(json: unknown): unknown
  /** Why a live value has no form in JSON, if so. */
  refuse?(live: unknown): string | undefined
  /** Prepares a live value for `toJsonValue`, where the value alone does not tell its form. */
  prepare?(live: unknown): unknown
  /** A warning for the operator. */
  remark?(direction: Direction): string | undefined
}

/** The live type of a schema; `undefined` for what JSON has itself. */
export function toLiveType(schema: Zod): LiveType | undefined {
  const def = defOf(schema)
  switch (def.type) {
    case 'date':
      return { ...dateType, ...(def.coerce && { revive: keep }), ...boundsRemark(def) }
    case 'bigint':
      return { ...bigintType, ...boundsRemark(def) }
    case 'map':
      return isText(def.keyType) ? toRecordMap(def, schema) : toPairMap(def, schema)
    case 'set':
      return toSetType(def, schema)
    case 'file':
      return toFileType(schema)
    case 'literal':
      return def.values.some((value) => typeof value === 'bigint' || value === undefined)
        ? toLiteralType(def.values)
        : undefined
    case 'undefined':
      return absentType
    case 'void':
      return { ...absentType, remark: toVoidRemark }
    case 'pipe':
      return toStringBoolType(def, schema)
    case 'nan':
    case 'symbol':
    case 'function':
      return toImpossibleType(def.type)
    case 'custom':
      return toInstanceType(schema)
    default:
      return undefined
  }
}

const keep = (json: unknown): unknown => json

const dateType: LiveType = {
  show: () => ({ type: 'string', format: 'date-time' }),
  revive: (json) => (typeof json === 'string' ? (parseDate(json) ?? json) : json),
  // RFC 3339 has four digits; clients refuse the six of ISO 8601.
  refuse: (live) =>
    live instanceof Date && (live.getUTCFullYear() < 0 || live.getUTCFullYear() > 9999)
      ? 'a date outside of the years 0 to 9999 has no date-time text'
      : undefined,
}

/** Limits the time that BigInt() takes, which is not linear. */
const bigintPattern = '^-?[0-9]{1,1000}$'
const bigintText = new RegExp(bigintPattern)

const bigintType: LiveType = {
  show: () => ({ type: 'string', pattern: bigintPattern }),
  revive: (json) =>
    (typeof json === 'string' && bigintText.test(json)) || Number.isSafeInteger(json)
      ? BigInt(json as string)
      : json,
}

/** Bounds have no keyword in JSON Schema: dates and bigints travel as strings. */
const boundsRemark = ({ checks }: Def): Pick<LiveType, 'remark'> => {
  const names = new Set(['greater_than', 'less_than', 'multiple_of', 'bigint_format'])
  const hasBounds = checks?.some(({ _zod }) => names.has(_zod.def.check))
  return hasBounds ? { remark: () => 'its bounds are enforced, but clients do not see them' } : {}
}

/** Keys that are strings in the program, too: such a map is an object. */
function isText(key: Zod): boolean {
  const def = defOf(key)
  switch (def.type) {
    case 'string':
    case 'template_literal':
      return true
    case 'enum':
      return Object.values(def.entries).every((value) => typeof value === 'string')
    case 'literal':
      return def.values.every((value) => typeof value === 'string')
    case 'union':
      return def.options.every(isText)
    case 'readonly':
      return isText(def.innerType)
    default:
      return false
  }
}

type MapDef = Extract<Def, { type: 'map' }>

const toRecordMap = ({ keyType, valueType }: MapDef, schema: Zod): LiveType => ({
  show(child) {
    const propertyNames = child(keyType, 'propertyNames')
    const isAnyText = JSON.stringify(propertyNames) === '{"type":"string"}'
    return {
      type: 'object',
      ...(!isAnyText && { propertyNames }),
      additionalProperties: child(valueType, 'additionalProperties'),
      ...sizeBounds(schema, 'minProperties', 'maxProperties'),
    }
  },
  revive: (json) => (isPlainObject(json) ? new Map(Object.entries(json)) : json),
})

const toPairMap = ({ keyType, valueType }: MapDef, schema: Zod): LiveType => ({
  show: (child) => ({
    type: 'array',
    description: 'Pairs of a key and its value; every key is there once.',
    items: {
      type: 'array',
      prefixItems: [
        child(keyType, 'items', 'prefixItems', 0),
        child(valueType, 'items', 'prefixItems', 1),
      ],
      items: false,
      minItems: 2,
    },
    ...sizeBounds(schema, 'minItems', 'maxItems'),
  }),
  revive(json) {
    if (!Array.isArray(json)) return json
    if (!json.every((pair) => Array.isArray(pair) && pair.length === 2)) return json
    const map = new Map(json)
    // With a key twice, one value would be lost: Zod refuses the array.
    return map.size === json.length ? map : json
  },
  prepare(live) {
    // `toJsonValue` would make an object of it when all keys happen to be strings, or there are none.
    if (live instanceof Map)
      Object.defineProperty(live, 'toJSON', { value: () => [...live], configurable: true })
    return live
  },
})

const toSetType = ({ valueType }: Extract<Def, { type: 'set' }>, schema: Zod): LiveType => ({
  show: (child, direction) => ({
    type: 'array',
    items: child(valueType, 'items'),
    // Live values that differ, such as two objects, can be equal as JSON.
    ...(direction === 'input' && { uniqueItems: true }),
    ...sizeBounds(schema, 'minItems', 'maxItems'),
  }),
  revive: (json) => (Array.isArray(json) ? new Set(json) : json),
})

function sizeBounds(schema: Zod, minimumKey: string, maximumKey: string): Schema {
  const { minimum, maximum } = toBounds(schema)
  return {
    ...(minimum !== undefined && { [minimumKey]: minimum }),
    ...(maximum !== undefined && { [maximumKey]: maximum }),
  }
}

function toBounds(schema: Zod): { readonly minimum?: number; readonly maximum?: number } {
  const bounds: { minimum?: number; maximum?: number } = {}
  for (const { _zod } of schema._zod.def.checks ?? []) {
    const def = _zod.def as { check: string; minimum?: number; maximum?: number; size?: number }
    const minimum = def.check === 'min_size' ? def.minimum : def.size
    const maximum = def.check === 'max_size' ? def.maximum : def.size
    if (minimum !== undefined) bounds.minimum = Math.max(bounds.minimum ?? 0, minimum)
    if (maximum !== undefined)
      bounds.maximum = Math.min(bounds.maximum ?? Number.POSITIVE_INFINITY, maximum)
  }
  return bounds
}

const base64Pattern = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'

/** The pattern, without its group: V8 runs out of stack when a group repeats a million times. */
const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

const base64Schema = { type: 'string', contentEncoding: 'base64', pattern: base64Pattern }

const toBytes = (base64: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(base64, 'base64'))

/** Base64; with several media types a data URL, which says the one of this file. */
function toFileType(schema: Zod): LiveType {
  const mimeTypes = (schema._zod.def.checks ?? []).flatMap(({ _zod }) =>
    _zod.def.check === 'mime_type' ? (_zod.def as z.core.$ZodCheckMimeTypeDef).mime : [],
  )
  const { minimum, maximum } = toBounds(schema)
  const hasBounds = minimum !== undefined || maximum !== undefined
  const remark = () =>
    hasBounds ? 'its size is enforced in bytes, but clients do not see the limit' : undefined
  const [mimeType = 'application/octet-stream'] = mimeTypes
  if (mimeTypes.length <= 1)
    return {
      show: () => ({
        ...base64Schema,
        ...(mimeTypes.length === 1 && { contentMediaType: mimeType }),
      }),
      revive: (json) =>
        typeof json === 'string' && isBase64(json)
          ? new File([toBytes(json)], 'file', { type: mimeType })
          : json,
      remark,
    }
  const types = mimeTypes.map((type) => z.core.util.escapeRegex(type)).join('|')
  const dataUrl = `^data:(${types});base64,(${base64Pattern.slice(1, -1)})$`
  return {
    // A result is base64 of the bytes, whatever the media type.
    show: (_, direction) =>
      direction === 'output'
        ? base64Schema
        : { type: 'string', pattern: dataUrl, description: 'A data URL with base64.' },
    revive(json) {
      if (typeof json !== 'string') return json
      const type = mimeTypes.find((one) => json.startsWith(`data:${one};base64,`))
      const base64 = json.slice(json.indexOf(',') + 1)
      return type !== undefined && isBase64(base64)
        ? new File([toBytes(base64)], 'file', { type })
        : json
    },
    remark,
  }
}

function toLiteralType(values: readonly unknown[]): LiveType {
  const bigints = new Map(
    values.flatMap((value) => (typeof value === 'bigint' ? [[String(value), value]] : [])),
  )
  const shown = values.flatMap((value): Json[] =>
    value === undefined ? [] : [toJsonValueNow(value, { remainingChars: 10_000 }) ?? null],
  )
  return {
    show(_, direction) {
      const all = values.includes(undefined) && direction === 'output' ? [...shown, null] : shown
      return all.length === 0
        ? { not: {} }
        : all.length === 1
          ? { const: all[0] ?? null }
          : { enum: all }
    },
    revive: (json) =>
      (typeof json === 'string' || typeof json === 'number') && !values.includes(json)
        ? (bigints.get(String(json)) ?? json)
        : json,
  }
}

/** Absent in an object. In an array of a result, it becomes null. */
const absentType: LiveType = {
  show: (_, direction) => (direction === 'output' ? { type: 'null' } : { not: {} }),
}

const toVoidRemark = (direction: Direction): string | undefined =>
  direction === 'input' ? '(void) accepts no JSON value; leave the property out' : undefined

/** Only the error of `z.stringbool()` tells which strings it accepts. */
function toStringBoolType(def: Extract<Def, { type: 'pipe' }>, schema: Zod): LiveType | undefined {
  if (def.in._zod.def.type !== 'string' || def.out._zod.def.type !== 'boolean') return undefined
  if (!schema._zod.traits.has('$ZodCodec')) return undefined
  const values = listAcceptedStrings(schema)
  return (
    values && {
      show: (child, direction) =>
        direction === 'output' ? child(def.out) : { type: 'string', enum: values },
    }
  )
}

function listAcceptedStrings(schema: Zod): string[] | undefined {
  try {
    const [issue] = z.safeParse(schema, '\0').error?.issues ?? []
    const isListed =
      issue?.code === 'invalid_value' && 'expected' in issue && issue.expected === 'stringbool'
    return isListed ? issue.values.map(String) : undefined
  } catch {
    // Any other codec: asynchronous, or it threw.
    return undefined
  }
}

const toImpossibleType = (type: string): LiveType => ({
  show: () => ({ not: {} }),
  remark: () => `(${type}) has no JSON representation, so that no value is valid here`,
})

/** `z.instanceof()` keeps its class in the bag; the check of any other `z.custom()` is opaque. */
function toInstanceType(schema: Zod): LiveType {
  const Class = findClass(schema)
  return (
    instanceTypes.get(Class) ?? {
      show: () => ({}),
      remark: (direction) => toCustomRemark(Class, direction),
    }
  )
}

/** A description makes a copy, which does not have the bag of its parent. */
export function findClass(schema: Zod): unknown {
  for (let next: Zod | undefined = schema; next; next = next._zod.parent)
    if (next._zod.bag.Class !== undefined) return next._zod.bag.Class
  return undefined
}

function toCustomRemark(Class: unknown, direction: Direction): string | undefined {
  const name = typeof Class === 'function' && Class.name !== '' ? Class.name : undefined
  if (direction === 'output') return undefined
  return name === undefined
    ? '(custom) is a function that cannot be shown as JSON Schema: clients see any value, and the function decides; describe it with .meta({ type: … })'
    : `an instance of ${name} cannot be sent as JSON, and its properties are not known here; use z.codec() from what JSON has`
}

const instanceTypes = new Map<unknown, LiveType>([
  [Date, dateType],
  [
    URL,
    {
      show: () => ({ type: 'string', format: 'uri' }),
      revive: (json) => (typeof json === 'string' && URL.canParse(json) ? new URL(json) : json),
    },
  ],
  ...[Uint8Array, Buffer].map((Class): [unknown, LiveType] => [
    Class,
    {
      show: () => base64Schema,
      revive: (json) =>
        typeof json === 'string' && isBase64(json) ? Class.from(Buffer.from(json, 'base64')) : json,
    },
  ]),
])

/** A default as JSON; `undefined` if it has no form in JSON. */
export function toShownDefault(value: unknown): JsonObject[string] {
  try {
    return toJsonValueNow(value, { remainingChars: maxDefaultChars })
  } catch {
    return undefined
  }
}

const maxDefaultChars = 10_000
