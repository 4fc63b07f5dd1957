import canonicalize from 'canonicalize'
import type { Capability } from '../../capability/capability.ts'
import type { JsonObject } from '../../capability/json.ts'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { type Finding, pairById, reviewAdvice } from './difference.ts'
import { compareKeyword, isAnnotation, type KeywordVerdict } from './schema-keywords.ts'

/** Compares the input and output schemas. */
export const diffContracts = (before: Capability, after: Capability): Finding[] =>
  listContractFindings(before, after).map((one) =>
    one.review ? { ...one, message: `${one.message} ${reviewAdvice}` } : one,
  )

function listContractFindings(before: Capability, after: Capability): Finding[] {
  const findings = new Comparison('input').run(before.input.schema, after.input.schema)
  const [old, current] = [before.output?.schema, after.output?.schema]
  if (old && current) return [...findings, ...new Comparison('output').run(old, current)]
  if (!old && !current) return findings
  return [
    ...findings,
    old
      ? {
          pointer: '/output',
          kind: 'output_removed',
          ...judge('output', 'looser'),
          message: 'Its results no longer have a declared schema.',
        }
      : {
          pointer: '/output',
          kind: 'output_added',
          ...judge('output', 'tighter'),
          message: 'Its results now have a declared schema.',
        },
  ]
}

/** Compares two schemas of the same values. */
export const diffSchemas = (
  direction: Direction,
  before: JsonObject,
  after: JsonObject,
): readonly Finding[] => new Comparison(direction).run(before, after)

export type Direction = 'input' | 'output'

/** Tighter inputs break clients that send the same as before; looser outputs break readers. */
// biome-ignore format: table
const judgements = {
  input:  { tighter: { effect: 'narrowing', breaking: true },
            looser:  { effect: 'widening',  breaking: false },
            other:   { effect: 'neutral',   breaking: true, review: true },
            annotation: { effect: 'neutral',   breaking: false } },
  output: { tighter: { effect: 'narrowing', breaking: false },
            looser:  { effect: 'widening',  breaking: true },
            other:   { effect: 'neutral',   breaking: true, review: true },
            annotation: { effect: 'neutral',   breaking: false } },
} as const satisfies Record<Direction, Record<KeywordVerdict, Pick<Finding, 'effect' | 'breaking' | 'review'>>>

const judge = (direction: Direction, verdict: KeywordVerdict) => judgements[direction][verdict]

type Schema = Readonly<Record<string, unknown>>
type Path = readonly PropertyKey[]
interface Side {
  readonly root: Schema
  /** Schemas that contain a $ref, with the reference resolved. */
  readonly resolved: Map<object, Schema>
}

/** Walks two schemas in parallel; memoizes compared pairs, so that recursive schemas end. */
class Comparison {
  readonly #direction: Direction
  readonly #findings: Finding[] = []
  readonly #seen = new Map<object, Set<object>>()
  #sides: readonly [Side, Side] = [emptySide, emptySide]

  constructor(direction: Direction) {
    this.#direction = direction
  }

  run(before: Schema, after: Schema): Finding[] {
    this.#sides = [
      { root: before, resolved: new Map() },
      { root: after, resolved: new Map() },
    ]
    this.#compare(before, after, [this.#direction])
    return this.#findings
  }

  #compare(left: unknown, right: unknown, path: Path): void {
    if (left === false || right === false) {
      if (left === right) return
      const verdict = right === false ? 'tighter' : 'looser'
      const message =
        right === false ? 'No value is allowed here any more.' : 'Values are now allowed here.'
      this.#report(verdict, path, 'schema_changed', message)
      return
    }
    const [before, after] = [this.#resolve(0, left), this.#resolve(1, right)]
    const seen = this.#seen.get(before) ?? new Set()
    if (seen.has(after)) return
    this.#seen.set(before, seen.add(after))
    const keywords = new Set([...Object.keys(before), ...Object.keys(after)])
    for (const keyword of [...keywords].sort(byCodeUnit)) {
      const walk = walks[keyword]
      if (walk) this[walk](before, after, keyword, path)
      else this.#compareKeyword(keyword, before, after, [...path, keyword])
    }
  }

  #compareKeyword(keyword: string, before: Schema, after: Schema, path: Path): void {
    const changes = compareKeyword(keyword, before, after)
    for (const { verdict, kind, message } of changes) this.#report(verdict, path, kind, message)
    if (changes.length > 0) return
    const [old, current] = this.#sides
    if (toTargets(before[keyword], old.root) !== toTargets(after[keyword], current.root))
      this.#report(
        'other',
        path,
        'schema_changed',
        `The target of a $ref inside ${keyword} changed.`,
      )
  }

  /** Compares declared properties; `required` is compared on its own. */
  properties(before: Schema, after: Schema, _: string, path: Path): void {
    const [old, current] = [toRecord(before.properties), toRecord(after.properties)]
    const names = new Set([...Object.keys(old), ...Object.keys(current)])
    for (const name of [...names].sort(byCodeUnit)) {
      const propertyPath = [...path, 'properties', name]
      const [wasDeclared, isDeclared] = [Object.hasOwn(old, name), Object.hasOwn(current, name)]
      if (wasDeclared && isDeclared) this.#compare(old[name], current[name], propertyPath)
      else if (isDeclared)
        this.#report('annotation', propertyPath, 'property_added', `Property ${name} was added.`)
      else {
        // Readers of a result could not rely on an optional property.
        const isRelevant = this.#direction === 'input' || toNames(before.required).includes(name)
        const verdict = isRelevant ? 'other' : 'annotation'
        this.#report(verdict, propertyPath, 'property_removed', `Property ${name} was removed.`)
      }
    }
  }

  /** An absent keyword allows any value. */
  subschema(before: Schema, after: Schema, keyword: string, path: Path): void {
    this.#compare(before[keyword] ?? true, after[keyword] ?? true, [...path, keyword])
  }

  additional(before: Schema, after: Schema, keyword: string, path: Path): void {
    const [old, current] = [before[keyword] ?? true, after[keyword] ?? true]
    if (old !== false && current !== false) return this.subschema(before, after, keyword, path)
    if (old === current) return
    const isClosed = current === false
    const [kind, message] = isClosed
      ? ['properties_closed', 'Undeclared properties are no longer allowed.']
      : ['properties_opened', 'Undeclared properties are now allowed.']
    const { effect, breaking } = judge(this.#direction, isClosed ? 'tighter' : 'looser')
    this.#findings.push({
      pointer: toPointer([...path, keyword]),
      kind,
      effect,
      // Readers of a result ignore unknown properties.
      breaking: breaking && this.#direction === 'input',
      message,
    })
  }

  /** `anyOf`, `oneOf` and `allOf`. */
  combinator(before: Schema, after: Schema, keyword: string, path: Path): void {
    const keywordPath = [...path, keyword]
    const [old, current] = [toList(before[keyword]), toList(after[keyword])]
    if (old.length === 0 || current.length === 0) {
      const isNew = old.length === 0
      this.#report(
        isNew ? 'tighter' : 'looser',
        keywordPath,
        'schema_changed',
        `${keyword} was ${isNew ? 'added' : 'removed'}.`,
      )
      return
    }
    const { both, removed, added } = pairById(old, current, (schema) => canonicalize(schema) ?? '')
    for (const [left, right] of both)
      this.#compare(left, right, [...keywordPath, current.indexOf(right)])
    if (removed.length === 0 && added.length === 0) return
    const onlyRemoves = added.length === 0
    const onlyAdds = removed.length === 0
    const restricts = keyword === 'allOf' ? onlyAdds : onlyRemoves
    const verdict = onlyRemoves || onlyAdds ? (restricts ? 'tighter' : 'looser') : 'other'
    const message = `Of ${old.length} schemas ${removed.length} were removed, and ${added.length} were added.`
    this.#report(verdict, keywordPath, 'schema_changed', message)
  }

  /** Definitions are compared where a $ref uses them. */
  skip(): void {}

  #report(verdict: KeywordVerdict, path: Path, kind: string, message: string): void {
    this.#findings.push({
      pointer: toPointer(path),
      kind,
      ...judge(this.#direction, verdict),
      message,
    })
  }

  /** The schema with a local $ref replaced by its target. */
  #resolve(side: 0 | 1, schema: unknown): Schema {
    if (!isPlainObject(schema)) return anySchema
    if (typeof schema.$ref !== 'string') return schema
    const { root, resolved } = this.#sides[side]
    const cached = resolved.get(schema)
    if (cached) return cached
    // Placeholder while the target is resolved: ends circular references.
    resolved.set(schema, schema)
    const { $ref, ...siblings } = schema
    const target = findTarget(root, $ref)
    const onlyAnnotations = Object.keys(siblings).every(isAnnotation)
    const result = !isPlainObject(target)
      ? schema
      : onlyAnnotations
        ? { ...this.#resolve(side, target), ...siblings }
        : { allOf: [{ $ref }, siblings] }
    resolved.set(schema, result)
    return result
  }
}

const anySchema: Schema = {}
const emptySide: Side = { root: anySchema, resolved: new Map() }

/** The walk for each keyword with subschemas; all other keywords are compared as values. */
const walks: Readonly<
  Record<string, 'properties' | 'subschema' | 'additional' | 'combinator' | 'skip' | undefined>
> = {
  properties: 'properties',
  items: 'subschema',
  propertyNames: 'subschema',
  additionalProperties: 'additional',
  unevaluatedProperties: 'additional',
  anyOf: 'combinator',
  oneOf: 'combinator',
  allOf: 'combinator',
  $defs: 'skip',
  definitions: 'skip',
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  isPlainObject(value) ? value : {}
const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const toNames = (value: unknown): readonly string[] => toList(value).map(String)

/** The transitive $ref targets of a value, as canonical JSON. */
function toTargets(value: unknown, root: Schema): string {
  const targets = new Map<string, unknown>()
  const stack = [value]
  while (stack.length > 0) {
    const node = stack.pop()
    if (typeof node !== 'object' || node === null) continue
    for (const [key, item] of Object.entries(node)) {
      stack.push(item)
      if (key !== '$ref' || typeof item !== 'string' || targets.has(item)) continue
      targets.set(item, findTarget(root, item))
      stack.push(targets.get(item))
    }
  }
  const sorted = [...targets].sort(([a], [b]) => byCodeUnit(a, b))
  return canonicalize(sorted.map(([, target]) => target ?? null)) ?? ''
}

function findTarget(root: Schema, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let node: unknown = root
  for (const segment of reference.slice(2).split('/')) {
    const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    node = (node as Record<string, unknown>)[key]
  }
  return node
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
