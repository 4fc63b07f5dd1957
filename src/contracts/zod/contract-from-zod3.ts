import type { Contract, ContractReading, Parsed } from '../../capability/contract.ts'
import { isFault } from '../../capability/fault.ts'
import { whenDone } from '../../capability/when-done.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import type { Direction } from '../read-contract.ts'
import { contractFromZod } from './contract-from-zod.ts'
import { copyLive } from './copy-live.ts'
import { mirrorZod3, type Zod3, type Zod3Result } from './mirror-zod3.ts'

export const isZod3 = (value: unknown): value is Zod3 =>
  typeof value === 'object' &&
  value !== null &&
  '_def' in value &&
  typeof (value as Zod3)._def?.typeName === 'string' &&
  'safeParseAsync' in value

/** A raw shape `{ city: z.string() }` of Zod 3, as MCP SDK 1.x takes it. */
export const isZod3Shape = (value: unknown): value is Record<string, Zod3> =>
  isPlainObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isZod3)

/** Shown through a mirror in Zod 4; checked by Zod 3 itself. */
export function contractFromZod3(schema: Zod3, direction: Direction): ContractReading {
  const reading = contractFromZod(mirrorZod3(schema, direction), direction)
  if (isFault(reading)) return reading
  const { parse: parseMirror } = reading.contract
  const parse: Contract['parse'] =
    direction === 'input'
      ? (json) =>
          whenDone(parseMirror(json), (mirrored) =>
            mirrored.ok
              ? check(schema, copyLive(json, mirrored.value))
              : check(schema, json).then((parsed) =>
                  parsed.ok ? parsed : merge(mirrored, parsed),
                ),
          )
      : (live) =>
          check(schema, live).then((parsed) =>
            parsed.ok
              ? whenDone(parseMirror(parsed.value), (mirrored) => (mirrored.ok ? mirrored : parsed))
              : parsed,
          )
  return { ...reading, contract: { ...reading.contract, parse } }
}

type Refused = Extract<Parsed, { readonly ok: false }>

/**
 * When the mirror refuses a value, no text in it becomes a date, and Zod 3 refuses all dates: only
 * the places that the mirror refuses are wrong. The author's messages are those of Zod 3.
 */
const merge = (mirrored: Refused, { issues }: Refused): Refused => ({
  ok: false,
  issues: mirrored.issues.map(
    (issue) => issues.find(({ pointer }) => pointer === issue.pointer) ?? issue,
  ),
})

const check = (schema: Zod3, value: unknown): Promise<Parsed> =>
  schema.safeParseAsync(value).then(toParsed)

const toParsed = (result: Zod3Result): Parsed =>
  result.success
    ? { ok: true, value: result.data }
    : {
        ok: false,
        issues: result.error.issues.map(({ path, message }) => ({
          pointer: toPointer(path),
          message,
        })),
      }

/** A shape as a schema: each property is checked by its own schema. */
export const toZod3Object = (shape: Record<string, Zod3>): Zod3 => {
  const parse = async (value: unknown): Promise<Zod3Result> => {
    const input: Readonly<Record<string, unknown>> = isPlainObject(value) ? value : {}
    const entries = await Promise.all(
      Object.entries(shape).map(
        async ([key, member]) => [key, await member.safeParseAsync(input[key])] as const,
      ),
    )
    const issues = entries.flatMap(([key, result]) =>
      result.success
        ? []
        : result.error.issues.map(({ path, message }) => ({ path: [key, ...path], message })),
    )
    if (issues.length > 0) return { success: false, error: { issues } }
    const data = entries.flatMap(([key, result]) =>
      result.success && (result.data !== undefined || Object.hasOwn(input, key))
        ? [[key, result.data] as const]
        : [],
    )
    return { success: true, data: Object.fromEntries(data) }
  }
  return {
    _def: { typeName: 'ZodObject', shape: () => shape, unknownKeys: 'strip' },
    safeParse: parse,
    safeParseAsync: parse,
  }
}
