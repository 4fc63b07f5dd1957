import { z } from 'zod'
import type { Direction } from '../read-contract.ts'
import { mirrorCustom } from './mirror-custom.ts'

/** A schema of Zod 3, also of `zod/v3`: older AI SDK, LangChain and MCP SDK files have them. */
export interface Zod3 {
  readonly _def: Zod3Def
  safeParse(value: unknown): unknown
  safeParseAsync(value: unknown): Promise<Zod3Result>
}

export type Zod3Result =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: { readonly issues: readonly Zod3Issue[] } }

interface Zod3Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Members that the mirror reads; which of them exist depends on `typeName`. */
interface Zod3Def {
  readonly typeName: string
  readonly description?: string
  readonly [member: string]: unknown
}

/**
 * The schema of Zod 4 that describes the same values, to convert it to JSON Schema and to revive dates.
 * Zod 3 itself checks values, so checks that JSON Schema cannot show are left out.
 */
export function mirrorZod3(root: Zod3, direction: Direction): z.ZodType {
  const mirrors = new Map<Zod3, z.ZodType>()
  const mirror = (member: unknown): z.ZodType => {
    const schema = member as Zod3
    const existing = mirrors.get(schema)
    if (existing) return existing
    const { typeName, description } = schema._def
    const build = mirrorsByType[typeName]
    if (!build) throw new Error(`${typeName} of Zod 3 is not supported; use Zod 4`)
    const made = build(schema._def, mirror, direction)
    const described = description === undefined ? made : made.describe(description)
    mirrors.set(schema, described)
    return described
  }
  return mirror(root)
}

type Mirror = (member: unknown) => z.ZodType
type Build = (def: Zod3Def, mirror: Mirror, direction: Direction) => z.ZodType

const inner: Build = ({ innerType }, mirror) => mirror(innerType)

const mirrorsByType: Readonly<Record<string, Build>> = {
  ZodString: toText,
  ZodNumber: toNumber,
  ZodBigInt: ({ coerce }) => (coerce ? z.coerce.bigint() : z.bigint()),
  ZodBoolean: ({ coerce }) => (coerce ? z.coerce.boolean() : z.boolean()),
  ZodDate: ({ coerce }) => (coerce ? z.coerce.date() : z.date()),
  ZodNull: () => z.null(),
  ZodUndefined: () => z.undefined(),
  ZodVoid: () => z.void(),
  ZodAny: () => z.any(),
  ZodUnknown: () => z.unknown(),
  ZodNever: () => z.never(),
  ZodNaN: () => z.nan(),
  ZodSymbol: () => z.symbol(),
  ZodFunction: () => z.custom(),
  ZodLiteral: ({ value }) => z.literal(value as string),
  ZodEnum: ({ values }) => z.enum(values as string[]),
  ZodNativeEnum: ({ values }) => z.enum(values as Record<string, string>),
  ZodObject: toObject,
  ZodArray: toArray,
  ZodTuple: ({ items, rest }, mirror) => {
    const mirrored = (items as unknown[]).map(mirror) as [z.ZodType, ...z.ZodType[]]
    return rest ? z.tuple(mirrored, mirror(rest)) : z.tuple(mirrored)
  },
  // Zod 3 does not require all keys of an enum.
  ZodRecord: ({ keyType, valueType }, mirror) =>
    z.partialRecord(mirror(keyType) as z.ZodString, mirror(valueType)),
  ZodMap: ({ keyType, valueType }, mirror) => z.map(mirror(keyType), mirror(valueType)),
  ZodSet: ({ valueType, minSize, maxSize }, mirror) => {
    const set = z.set(mirror(valueType))
    const bounded = isBound(minSize) ? set.min(minSize.value) : set
    return isBound(maxSize) ? bounded.max(maxSize.value) : bounded
  },
  ZodUnion: ({ options }, mirror) => z.union((options as unknown[]).map(mirror)),
  ZodDiscriminatedUnion: ({ options }, mirror) =>
    z.union([...(options as Iterable<unknown>)].map(mirror)),
  ZodIntersection: ({ left, right }, mirror) => z.intersection(mirror(left), mirror(right)),
  ZodOptional: ({ innerType }, mirror) => mirror(innerType).optional(),
  ZodNullable: ({ innerType }, mirror) => mirror(innerType).nullable(),
  ZodDefault: ({ innerType, defaultValue }, mirror) =>
    mirror(innerType).default((defaultValue as () => never)()),
  ZodCatch: ({ innerType }, mirror, direction) =>
    direction === 'output' ? mirror(innerType) : keepRefused(mirror(innerType)),
  ZodReadonly: inner,
  ZodBranded: ({ type }, mirror) => mirror(type),
  ZodPromise: ({ type }, mirror) => mirror(type),
  ZodLazy: ({ getter }, mirror) => z.lazy(() => mirror((getter as () => unknown)())),
  ZodPipeline: (def, mirror, direction) => mirror(direction === 'input' ? def.in : def.out),
  ZodEffects: toEffects,
}

function toEffects({ schema, effect }: Zod3Def, mirror: Mirror, direction: Direction): z.ZodType {
  const { type, refinement } = effect as { readonly type: string; readonly refinement?: unknown }
  const custom =
    type === 'refinement' && (schema as Zod3)._def.typeName === 'ZodAny'
      ? mirrorCustom(refinement)
      : undefined
  if (custom) return custom
  if (direction === 'output') return type === 'transform' ? z.unknown() : mirror(schema)
  // The function may accept more than what is shown: the rest of the value is revived all the same.
  return type === 'preprocess' ? keepRefused(mirror(schema)) : mirror(schema)
}

const keepRefused = (schema: z.ZodType): z.ZodType =>
  schema.catch((context: { input: unknown }) => context.input as never)

interface Check {
  readonly kind: string
  readonly value?: unknown
  readonly inclusive?: boolean
  readonly regex?: RegExp
  readonly offset?: boolean
}

const checksOf = ({ checks }: Zod3Def): readonly Check[] => (checks ?? []) as readonly Check[]

const isBound = (bound: unknown): bound is { readonly value: number } =>
  typeof bound === 'object' && bound !== null && 'value' in bound

/** Formats that JSON Schema has. A date-time without `offset` ends with Z. */
const formats: Readonly<Record<string, string>> = {
  email: 'email',
  url: 'uri',
  uuid: 'uuid',
  date: 'date',
}

function toText(def: Zod3Def): z.ZodType {
  let schema = def.coerce ? (z.coerce.string() as z.ZodType as z.ZodString) : z.string()
  for (const { kind, value, regex, offset } of checksOf(def)) {
    if (kind === 'min') schema = schema.min(value as number)
    if (kind === 'max') schema = schema.max(value as number)
    if (kind === 'length') schema = schema.length(value as number)
    if (kind === 'startsWith') schema = schema.startsWith(value as string)
    if (kind === 'endsWith') schema = schema.endsWith(value as string)
    if (kind === 'includes') schema = schema.includes(value as string)
    if (kind === 'regex' && regex) schema = schema.regex(regex)
    const format = formats[kind]
    if (format !== undefined) schema = schema.meta({ format })
    if (kind === 'datetime') {
      schema = schema.meta({ format: 'date-time' })
      if (!offset) schema = schema.regex(/Z$/)
    }
  }
  return schema
}

function toNumber(def: Zod3Def): z.ZodType {
  let schema: z.ZodNumber = def.coerce ? z.coerce.number() : z.number()
  for (const { kind, value, inclusive } of checksOf(def)) {
    const bound = value as number
    if (kind === 'int') schema = schema.int()
    if (kind === 'min') schema = inclusive ? schema.min(bound) : schema.gt(bound)
    if (kind === 'max') schema = inclusive ? schema.max(bound) : schema.lt(bound)
    if (kind === 'multipleOf') schema = schema.multipleOf(bound)
  }
  return schema
}

function toObject(def: Zod3Def, mirror: Mirror): z.ZodType {
  const shape = (def.shape as () => Record<string, unknown>)()
  const object = z.object(
    Object.fromEntries(Object.entries(shape).map(([key, member]) => [key, mirror(member)])),
  )
  const catchall = def.catchall as Zod3 | undefined
  if (catchall && catchall._def.typeName !== 'ZodNever') return object.catchall(mirror(catchall))
  if (def.unknownKeys === 'strict') return object.strict()
  return def.unknownKeys === 'passthrough' ? object.loose() : object
}

function toArray(def: Zod3Def, mirror: Mirror): z.ZodType {
  const { type, minLength, maxLength, exactLength } = def
  let array = z.array(mirror(type))
  if (isBound(minLength)) array = array.min(minLength.value)
  if (isBound(maxLength)) array = array.max(maxLength.value)
  return isBound(exactLength) ? array.length(exactLength.value) : array
}
