import { z } from 'zod'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { isLive } from './copy-live.ts'
import { defOf, type Zod } from './zod-children.ts'

type Parse = Zod['_zod']['parse']
type Result = z.core.ParsePayload

/**
 * Both sides of an intersection get the whole value, and Zod merges what they return: a date that one
 * side made must not meet the string that the other side only passed on. Each side runs once: running it
 * again would double the work at each level of nested intersections.
 */
export function reviveIntersection(schema: Zod): void {
  const def = defOf(schema)
  if (def.type !== 'intersection') return
  const { parse, run } = schema._zod
  const parseSides: Parse = (payload, context) => {
    const input = payload.value
    const left = def.left._zod.run({ value: input, issues: [] }, context)
    const right = def.right._zod.run({ value: input, issues: [] }, context)
    return left instanceof Promise || right instanceof Promise
      ? Promise.all([left, right]).then((sides) => merge(payload, ...sides, context))
      : merge(payload, left, right, context)
  }
  schema._zod.parse = parseSides
  // Without checks, Zod runs `parse` itself.
  if (run === parse) schema._zod.run = parseSides
}

function merge(
  payload: Result,
  left: Result,
  right: Result,
  context: z.core.ParseContextInternal,
): Result {
  const input = payload.value
  const isValid = left.issues.length === 0 && right.issues.length === 0
  const sides = isValid
    ? {
        left: { ...left, value: preferLive(left.value, right.value, input) },
        right: { ...right, value: preferLive(right.value, left.value, input) },
      }
    : { left, right }
  payload.value = sides
  merger._zod.parse(payload, context)
  if (payload.value === sides) payload.value = input
  return payload
}

/** Zod's own merge of values and issues, for sides that have run. */
const merger: Zod = z.intersection(toResultOf('left'), toResultOf('right'))

function toResultOf(side: 'left' | 'right'): z.ZodType {
  const schema = z.any()
  schema._zod.run = ({ value }) => (value as Record<typeof side, Result>)[side]
  return schema
}

/** The value with the live values of the other side in the places where it has only their JSON. */
function preferLive(value: unknown, other: unknown, json: unknown): unknown {
  if (value === other || isLive(value)) return value
  if (isLive(other)) return isContainer(value) || value === json ? other : value
  if (Array.isArray(value)) {
    if (!Array.isArray(other) || other.length !== value.length) return value
    const items: readonly unknown[] = Array.isArray(json) ? json : []
    return value.map((item, index) => preferLive(item, other[index], items[index]))
  }
  if (!isPlainObject(value) || !isPlainObject(other)) return value
  const members: Readonly<Record<string, unknown>> = isPlainObject(json) ? json : {}
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      Object.hasOwn(other, key) ? preferLive(item, other[key], members[key]) : item,
    ]),
  )
}

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null
