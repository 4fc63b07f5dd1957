import { z } from 'zod'
import type { ContractReading, SlowPattern } from '../capability/contract.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { toPointer } from '../json/to-pointer.ts'
import { toParse } from './contract-from-standard-schema.ts'
import type { Direction } from './read-contract.ts'
import { findSlowPatterns } from './slow-patterns.ts'

type Zod = z.core.$ZodType

export function contractFromZod(schema: Zod, direction: Direction): ContractReading {
  const remarks: string[] = []
  const slowPatterns: SlowPattern[] = []
  const { $schema, ...body } = z.toJSONSchema(schema, {
    io: direction,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema, path }) => {
      const { type } = zodSchema._zod.def
      if (type === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time' })
      else if (notJson.has(type))
        remarks.push(`/${path.join('/')} (${type}) has no JSON representation`)
      for (const pattern of listPatterns(zodSchema))
        slowPatterns.push(...findSlowPatterns(pattern, toPointer(path)))
      dropImpliedKeywords(jsonSchema)
    },
  })
  const parse = toParse(schema as z.ZodType)
  const revive = direction === 'input' ? toReviver(schema) : undefined
  return {
    contract: {
      schema: body as JsonObject,
      parse: revive ? (value) => parse(revive(value)) : parse,
    },
    remarks,
    slowPatterns,
  }
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

const notJson = new Set<string>([
  'bigint',
  'symbol',
  'undefined',
  'void',
  'map',
  'set',
  'function',
  'nan',
  'promise',
])

/** Saves tokens: drops the safe-integer bounds that Zod adds, and patterns that a format implies. */
function dropImpliedKeywords(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.format !== undefined) delete schema.pattern
}

type Reviver = (value: unknown) => unknown

/** JSON has no dates: converts strings to `Date` wherever the schema expects one. */
function toReviver(schema: Zod): Reviver | undefined {
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  switch (def.type) {
    case 'date':
      return (value) => (typeof value === 'string' ? new Date(value) : value)
    case 'object': {
      const revivers = Object.entries(def.shape).flatMap(([key, child]) => {
        const revive = toReviver(child)
        return revive ? [[key, revive] as const] : []
      })
      if (revivers.length === 0) return undefined
      return (value) => {
        if (!isPlainObject(value)) return value
        const revived = { ...value }
        for (const [key, revive] of revivers)
          if (Object.hasOwn(revived, key)) revived[key] = revive(revived[key])
        return revived
      }
    }
    case 'array': {
      const revive = toReviver(def.element)
      return revive && ((value) => (Array.isArray(value) ? value.map(revive) : value))
    }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return toReviver(def.innerType)
    case 'pipe':
      return toReviver(def.in)
    default:
      return undefined
  }
}
