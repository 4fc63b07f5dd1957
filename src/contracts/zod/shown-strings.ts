import { z } from 'zod'
import { toUnicodePattern } from '../../patterns/to-unicode-pattern.ts'
import type { Direction } from '../read-contract.ts'
import { defOf, type Zod } from './zod-children.ts'

type Shown = z.core.JSONSchema.BaseSchema

export interface ShownString {
  readonly direction: Direction
  /** The format that the author declares with `.meta()`. */
  readonly declaredFormat: unknown
}

/**
 * Changes what Zod shows of patterns and formats so that other programs read it as Zod does. Returns the
 * patterns that cannot be shown.
 */
export function adjustString(zod: Zod, shown: Shown, options: ShownString): readonly RegExp[] {
  adjustFormat(shown, options)
  const own = new Map(listRegexes(zod).map((regex) => [regex.source, regex]))
  const hidden: RegExp[] = []
  const adjust = (source: string): string | undefined => {
    const regex = own.get(source)
    const pattern = toShownPattern(source, regex?.flags ?? '')
    if (pattern === undefined) hidden.push(regex ?? new RegExp(source))
    return pattern
  }
  for (const holder of [shown, ...(shown.allOf ?? [])])
    if (typeof holder.pattern === 'string')
      replaceOrDelete(holder, 'pattern', adjust(holder.pattern))
  if (hidden.length > 0 && shown.allOf) {
    const members = shown.allOf.filter((member) => Object.keys(member).length > 0)
    replaceOrDelete(shown, 'allOf', members.length > 0 ? members : undefined)
  }
  if (shown.patternProperties)
    shown.patternProperties = Object.fromEntries(
      Object.entries(shown.patternProperties).flatMap(([source, value]) => {
        const pattern = adjust(source)
        return pattern === undefined ? [] : [[pattern, value]]
      }),
    )
  return hidden
}

/** Formats of JSON Schema 2020-12. Zod also shows the names of its own checks, such as `starts_with`. */
const formats: ReadonlySet<unknown> = new Set([
  ...['date-time', 'date', 'time', 'duration', 'email', 'idn-email', 'hostname', 'idn-hostname'],
  ...['ipv4', 'ipv6', 'uri', 'uri-reference', 'iri', 'iri-reference', 'uuid', 'uri-template'],
  ...['json-pointer', 'relative-json-pointer', 'regex'],
])

function adjustFormat(shown: Shown, { direction, declaredFormat }: ShownString): void {
  const { format, pattern } = shown
  // Clients compare results with RFC 3986, Zod parses URLs as browsers do.
  if (format === 'uri' && direction === 'output') delete shown.format
  if (format === undefined || format === declaredFormat) return
  const isCustomEmail =
    format === 'email' && pattern !== undefined && pattern !== z.regexes.email.source
  if (!formats.has(format) || (isCustomEmail && direction === 'output')) delete shown.format
  if (!formats.has(format) || isCustomEmail || pattern === undefined) return
  // Saves tokens: the format implies the pattern, but for offsets, which z.iso.datetime() refuses by default.
  const hasOffset = format !== 'date-time' || new RegExp(pattern).test('2026-01-02T03:04:05+01:00')
  replaceOrDelete(shown, 'pattern', hasOffset ? undefined : 'Z$')
}

function replaceOrDelete<Key extends keyof Shown>(shown: Shown, key: Key, value?: Shown[Key]) {
  if (value === undefined) delete shown[key]
  else shown[key] = value
}

/** The regular expressions of a string, or of the keys of a record. */
function listRegexes(zod: Zod): readonly RegExp[] {
  const def = defOf(zod)
  const own = [zod, ...(def.checks ?? [])].flatMap(({ _zod }) => {
    const { pattern } = _zod.def as { pattern?: unknown }
    return pattern instanceof RegExp ? [pattern] : []
  })
  return def.type === 'record' ? listRegexes(def.keyType) : own
}

/** The pattern without flags that means the same, if there is one. */
function toShownPattern(source: string, flags: string): string | undefined {
  for (const [flag, matters] of flagRules) if (flags.includes(flag) && matters.test(source)) return
  const pattern = toUnicodePattern(source)
  try {
    new RegExp(pattern, 'u')
    return pattern
  } catch {
    return undefined
  }
}

/** Flags that JSON Schema does not have, and the sources that they give another meaning. */
const flagRules: readonly (readonly [string, RegExp])[] = [
  // Letters, and escapes that can mean letters.
  ['i', /^(?!(?:[^\\A-Za-z\u0080-\uffff]|\\[^xucpPk])*$)/],
  ['m', /[$^]/],
  ['s', /\./],
  // Sets inside of sets, and what operates on them.
  ['v', /\[[^\]]*\[|--|&&|\\q/],
]
