import canonicalize from 'canonicalize'
import type { Capability } from '../../capability/capability.ts'
import { toPointer } from '../../capability/contract.ts'
import { byCodePoint, isPlainObject } from '../../capability/json.ts'
import { type Finding, pair } from './difference.ts'
import { compareKeyword, isWords, type KeywordVerdict } from './schema-keywords.ts'

/** How the forms of what goes in and what comes out changed. */
export function diffContracts(before: Capability, now: Capability): Finding[] {
  const found = new Comparison('input').run(before.input.schema, now.input.schema)
  const [old, current] = [before.output?.schema, now.output?.schema]
  if (old && current) return [...found, ...new Comparison('output').run(old, current)]
  if (!old && !current) return found
  return [
    ...found,
    old
      ? {
          pointer: '/output',
          kind: 'output_removed',
          ...judge('output', 'looser'),
          message: 'The form of its answers is no longer promised.',
        }
      : {
          pointer: '/output',
          kind: 'output_added',
          ...judge('output', 'tighter'),
          message: 'The form of its answers is promised now.',
        },
  ]
}

type Direction = 'input' | 'output'

/** A caller who sends what it always sent minds what is refused; one who reads, what is new. */
// biome-ignore format: table
const judgements = {
  input:  { tighter: { effect: 'narrowing', breaking: true },
            looser:  { effect: 'widening',  breaking: false },
            other:   { effect: 'neutral',   breaking: true },
            words:   { effect: 'neutral',   breaking: false } },
  output: { tighter: { effect: 'narrowing', breaking: false },
            looser:  { effect: 'widening',  breaking: true },
            other:   { effect: 'neutral',   breaking: true },
            words:   { effect: 'neutral',   breaking: false } },
} as const satisfies Record<Direction, Record<KeywordVerdict, Pick<Finding, 'effect' | 'breaking'>>>

const judge = (direction: Direction, verdict: KeywordVerdict) => judgements[direction][verdict]

type Schema = Readonly<Record<string, unknown>>
type Path = readonly PropertyKey[]
interface Side {
  readonly root: Schema
  /** A schema with a reference, and what it amounts to. */
  readonly resolved: Map<object, Schema>
}

/** Two schemas, walked side by side; what was compared once is not compared again. */
class Comparison {
  readonly #direction: Direction
  readonly #found: Finding[] = []
  readonly #seen = new Map<object, Set<object>>()
  #sides: readonly [Side, Side] = [nothing, nothing]

  constructor(direction: Direction) {
    this.#direction = direction
  }

  run(before: Schema, now: Schema): Finding[] {
    this.#sides = [
      { root: before, resolved: new Map() },
      { root: now, resolved: new Map() },
    ]
    this.#compare(before, now, [this.#direction])
    return this.#found
  }

  #compare(left: unknown, right: unknown, path: Path): void {
    if (left === false || right === false) {
      if (left === right) return
      const verdict = right === false ? 'tighter' : 'looser'
      const message =
        right === false ? 'Nothing is allowed here now.' : 'Something is allowed here now.'
      this.#say(verdict, path, 'schema_changed', message)
      return
    }
    const [before, now] = [this.#resolve(0, left), this.#resolve(1, right)]
    const seen = this.#seen.get(before) ?? new Set()
    if (seen.has(now)) return
    this.#seen.set(before, seen.add(now))
    const keywords = new Set([...Object.keys(before), ...Object.keys(now)])
    for (const keyword of [...keywords].sort(byCodePoint)) {
      const walk = walks[keyword]
      if (walk) this[walk](before, now, keyword, path)
      else this.#compareWhole(keyword, before, now, [...path, keyword])
    }
  }

  #compareWhole(keyword: string, before: Schema, now: Schema, path: Path): void {
    const changes = compareKeyword(keyword, before, now)
    for (const { verdict, kind, message } of changes) this.#say(verdict, path, kind, message)
    if (changes.length > 0) return
    const [old, current] = this.#sides
    if (toTargets(before[keyword], old.root) !== toTargets(now[keyword], current.root))
      this.#say('other', path, 'schema_changed', `What ${keyword} refers to changed.`)
  }

  /** Whether a property is named, and whether it must be there, are two questions. */
  properties(before: Schema, now: Schema, _: string, path: Path): void {
    const [old, current] = [toRecord(before.properties), toRecord(now.properties)]
    const names = new Set([...Object.keys(old), ...Object.keys(current)])
    for (const name of [...names].sort(byCodePoint)) {
      const here = [...path, 'properties', name]
      const [was, is] = [Object.hasOwn(old, name), Object.hasOwn(current, name)]
      if (was && is) this.#compare(old[name], current[name], here)
      else if (is) this.#say('words', here, 'property_added', `${name} is new.`)
      else {
        // An answer never promised to hold what was not required.
        const mattered = this.#direction === 'input' || toNames(before.required).includes(name)
        const verdict = mattered ? 'other' : 'words'
        this.#say(verdict, here, 'property_removed', `${name} is gone.`)
      }
    }
  }

  /** Absent means anything goes. */
  within(before: Schema, now: Schema, keyword: string, path: Path): void {
    this.#compare(before[keyword] ?? true, now[keyword] ?? true, [...path, keyword])
  }

  rest(before: Schema, now: Schema, keyword: string, path: Path): void {
    const [old, current] = [before[keyword] ?? true, now[keyword] ?? true]
    if (old !== false && current !== false) return this.within(before, now, keyword, path)
    if (old === current) return
    const closed = current === false
    const [kind, message] = closed
      ? ['properties_closed', 'Only what is named may be there now.']
      : ['properties_opened', 'More than what is named may be there now.']
    const { effect, breaking } = judge(this.#direction, closed ? 'tighter' : 'looser')
    this.#found.push({
      pointer: toPointer([...path, keyword]),
      kind,
      effect,
      // Whoever reads an answer skips what it does not know.
      breaking: breaking && this.#direction === 'input',
      message,
    })
  }

  /** One of several must fit, or all of them. */
  alternatives(before: Schema, now: Schema, keyword: string, path: Path): void {
    const here = [...path, keyword]
    const [old, current] = [toList(before[keyword]), toList(now[keyword])]
    if (old.length === 0 || current.length === 0) {
      const isNew = old.length === 0
      this.#say(
        isNew ? 'tighter' : 'looser',
        here,
        'schema_changed',
        `${keyword} is ${isNew ? 'new' : 'gone'}.`,
      )
      return
    }
    const { both, gone, added } = pair(old, current, (one) => canonicalize(one) ?? '')
    for (const [left, right] of both) this.#compare(left, right, [...here, current.indexOf(right)])
    if (gone.length === 0 && added.length === 0) return
    const fewer = added.length === 0
    const more = gone.length === 0
    const restricts = keyword === 'allOf' ? more : fewer
    const verdict = fewer || more ? (restricts ? 'tighter' : 'looser') : 'other'
    const message = `Of ${old.length} schemas ${gone.length} are gone, and ${added.length} are new.`
    this.#say(verdict, here, 'schema_changed', message)
  }

  /** Only counts where something refers to it; then it is compared there. */
  aside(): void {}

  #say(verdict: KeywordVerdict, path: Path, kind: string, message: string): void {
    this.#found.push({
      pointer: toPointer(path),
      kind,
      ...judge(this.#direction, verdict),
      message,
    })
  }

  /** What a schema amounts to once the references to its own root are followed. */
  #resolve(side: 0 | 1, schema: unknown): Schema {
    if (!isPlainObject(schema)) return anything
    if (typeof schema.$ref !== 'string') return schema
    const { root, resolved } = this.#sides[side]
    const known = resolved.get(schema)
    if (known) return known
    // Stands in while its target is looked at, so that a circle ends.
    resolved.set(schema, schema)
    const { $ref, ...beside } = schema
    const target = find(root, $ref)
    const onlyWords = Object.keys(beside).every(isWords)
    const whole = !isPlainObject(target)
      ? schema
      : onlyWords
        ? { ...this.#resolve(side, target), ...beside }
        : { allOf: [{ $ref }, beside] }
    resolved.set(schema, whole)
    return whole
  }
}

const anything: Schema = {}
const nothing: Side = { root: anything, resolved: new Map() }

/** How the keywords that hold schemas are walked; all others are compared as they stand. */
const walks: Readonly<
  Record<string, 'properties' | 'within' | 'rest' | 'alternatives' | 'aside' | undefined>
> = {
  properties: 'properties',
  items: 'within',
  propertyNames: 'within',
  additionalProperties: 'rest',
  unevaluatedProperties: 'rest',
  anyOf: 'alternatives',
  oneOf: 'alternatives',
  allOf: 'alternatives',
  $defs: 'aside',
  definitions: 'aside',
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  isPlainObject(value) ? value : {}
const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const toNames = (value: unknown): readonly string[] => toList(value).map(String)

/** All that a value refers to, and what that refers to, as one text. */
function toTargets(value: unknown, root: Schema): string {
  const targets = new Map<string, unknown>()
  const waiting = [value]
  while (waiting.length > 0) {
    const one = waiting.pop()
    if (typeof one !== 'object' || one === null) continue
    for (const [key, item] of Object.entries(one)) {
      waiting.push(item)
      if (key !== '$ref' || typeof item !== 'string' || targets.has(item)) continue
      targets.set(item, find(root, item))
      waiting.push(targets.get(item))
    }
  }
  const sorted = [...targets].sort(([a], [b]) => byCodePoint(a, b))
  return canonicalize(sorted.map(([, target]) => target ?? null)) ?? ''
}

function find(root: Schema, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let node: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined
    node = (node as Record<string, unknown>)[key]
  }
  return node
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
