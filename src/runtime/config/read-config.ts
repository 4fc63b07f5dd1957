import { z } from 'zod'
import { findNearest } from '../../capability/find-nearest.ts'
import { SetupError } from '../../capability/setup-error.ts'
import { fromPointer } from '../../json/from-pointer.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { readYaml, type YamlReading } from '../../yaml/read-yaml.ts'
import { readTextFile } from '../read-text-file.ts'
import { type Config, configShape } from './config-shape.ts'
import { toPlaceholders, type UnsetVariables } from './unset-variables.ts'

export interface ConfigReading {
  readonly config: Config
  /** The configuration as it is written: with references such as `env://NAME` instead of their values. */
  readonly written: Config
  /** Values from the environment; they must not appear in results. */
  readonly secrets: readonly string[]
  /** Names of these environment variables. */
  readonly variables: readonly string[]
  /** `file:line:column` of a JSON pointer; absent if there is no file. */
  readonly locate?: (pointer: string) => string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads `drawbridge.yaml`. Reports all errors at once, each with file, line and column. With `unset`, variables
 * need not be set: they are collected there.
 */
export async function readConfig(
  file: string,
  environment: Environment,
  unset?: UnsetVariables,
): Promise<ConfigReading> {
  const document = readYaml(await readTextFile(file), file)
  const [broken] = document.faults
  if (broken) throw new SetupError(`${broken.at} ${broken.message}`)

  const references = findReferences(document.value ?? {}, [])
  const unsetReferences = references.filter(({ name }) => environment[name] === undefined)
  const reading = unset
    ? parseWithPlaceholders(document, environment, unsetReferences)
    : parse(document, environment, () => '')
  const errors = unset
    ? []
    : unsetReferences.map(
        ({ path, name }) => `${document.at(path)} env://${name} is not set in the environment`,
      )
  const { parsed, placeholders } = reading
  if (!parsed.success) {
    // Ignore errors about the placeholder of an unset variable.
    const ignored = new Set(unset ? [] : unsetReferences.map(({ path }) => document.at(path)))
    for (const { at, message } of parsed.error.issues.flatMap((issue) => explain(issue, document)))
      if (!ignored.has(at)) errors.push(`${at} ${message}`)
  }
  if (!parsed.success || errors.length > 0) throw new SetupError(errors.join('\n'))
  for (const { path, name } of unset ? unsetReferences : []) {
    const pointer = toPointer(path)
    unset?.add(name, { source: 'configuration', pointer, at: document.at(path) })
    const placeholder = placeholders.get(toKey(path)) ?? ''
    // Values of enumerations are ordinary words, which occur elsewhere too.
    if (toPlaceholders(name).includes(placeholder)) unset?.addPlaceholder(placeholder, name)
  }
  const variables = new Map<string, string>()
  for (const { name } of references) {
    const value = environment[name]
    if (value !== undefined) variables.set(name, value)
  }
  return {
    config: parsed.data,
    written: toWritten(parsed.data, references),
    secrets: [...variables.values()],
    variables: [...variables.keys()],
    locate: (pointer) => document.at(fromPointer(pointer)),
  }
}

interface Reference {
  readonly path: Path
  readonly name: string
}

/** The values that are `env://NAME`. */
function findReferences(value: unknown, path: Path): Reference[] {
  if (typeof value === 'string')
    return value.startsWith('env://') ? [{ path, name: value.slice('env://'.length) }] : []
  if (typeof value !== 'object' || value === null) return []
  const isList = Array.isArray(value)
  return Object.entries(value).flatMap(([key, item]) =>
    findReferences(item, [...path, isList ? Number(key) : key]),
  )
}

type Placeholders = ReadonlyMap<string, string>

function parse(
  document: YamlReading,
  environment: Environment,
  toPlaceholder: (name: string, path: Path) => string,
) {
  const placeholders = new Map<string, string>()
  const value = resolve(document.value ?? {}, [], (name, path) => {
    const secret = environment[name]
    if (secret !== undefined) return secret
    const placeholder = toPlaceholder(name, path)
    placeholders.set(toKey(path), placeholder)
    return placeholder
  })
  return { parsed: configShape.safeParse(value), placeholders: placeholders as Placeholders }
}

/** Tries other forms of a placeholder, as long as the shape rejects it. */
function parseWithPlaceholders(
  document: YamlReading,
  environment: Environment,
  references: readonly Reference[],
) {
  const forms = new Map(
    references.map(({ path, name }) => [toKey(path), [...toPlaceholders(name)]]),
  )
  const triedListed = new Set<string>()
  for (;;) {
    const reading = parse(document, environment, (_, path) => forms.get(toKey(path))?.[0] ?? '')
    if (reading.parsed.success) return reading
    const rejected = toRejections(reading.parsed.error.issues, [])
    let hasOther = false
    for (const [key, choices] of forms) {
      const values = rejected.get(key)
      if (!values || choices.length === 1) continue
      hasOther = true
      // A value of an enumeration fits better than any made-up text.
      const listed = triedListed.has(key) ? undefined : values.find(isText)
      if (listed !== undefined) triedListed.add(key)
      choices.splice(0, 1, ...(listed === undefined ? [] : [listed]))
    }
    if (!hasOther) return reading
  }
}

/** The rejected paths, also in alternatives of unions, with the values that would be accepted. */
function toRejections(issues: readonly Issue[], base: Path): Map<string, readonly unknown[]> {
  const rejections = new Map<string, readonly unknown[]>()
  for (const issue of issues) {
    const path = [...base, ...issue.path]
    const values = issue.code === 'invalid_value' ? issue.values : []
    rejections.set(toKey(path), [...(rejections.get(toKey(path)) ?? []), ...values])
    if (issue.code !== 'invalid_union') continue
    for (const [key, inner] of toRejections(issue.errors.flat(), path))
      rejections.set(key, [...(rejections.get(key) ?? []), ...inner])
  }
  return rejections
}

/** Puts references back into a parsed configuration. */
function toWritten(config: Config, references: readonly Reference[]): Config {
  const written = structuredClone(config)
  for (const { path, name } of references) {
    let parent: unknown = written
    for (const step of path.slice(0, -1))
      parent = isContainer(parent) ? parent[String(step)] : undefined
    const last = String(path.at(-1))
    if (!isContainer(parent) || !Object.hasOwn(parent, last)) continue
    // A single text may stand for a list of one.
    parent[last] = Array.isArray(parent[last]) ? [`env://${name}`] : `env://${name}`
  }
  return written
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const toKey = (path: Path): string => JSON.stringify(path.map(String))

type Path = readonly PropertyKey[]

/** Replaces `env://NAME` by the value of the variable. */
function resolve(
  value: unknown,
  path: Path,
  lookUp: (name: string, path: Path) => string,
): unknown {
  if (typeof value === 'string')
    return value.startsWith('env://') ? lookUp(value.slice('env://'.length), path) : value
  if (Array.isArray(value))
    return value.map((item, index) => resolve(item, [...path, index], lookUp))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolve(item, [...path, key], lookUp)]),
  )
}

interface ConfigError {
  readonly at: string
  readonly message: string
}

type Issue = z.core.$ZodIssue

function explain(issue: Issue, document: YamlReading): ConfigError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const known = knownKeys(issue.path, document).filter((one) => one !== key)
      const nearest = findNearest(key, known)
      const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
      const message = `unknown key "${key}" at ${toText(issue.path)}.${hint}`
      return { at: document.keyAt(issue.path, key), message }
    })
  if (issue.code === 'invalid_union' && issue.path[0] === 'sources')
    return issue.path.length === 2 ? explainSource(issue, document) : explainUnion(issue, document)
  return [{ at: document.at(issue.path), message: `${toText(issue.path)}: ${issue.message}` }]
}

/** Reports only the errors of the kind of source that the keys select, not of every kind. */
function explainSource(
  issue: Issue & { code: 'invalid_union' },
  document: YamlReading,
): ConfigError[] {
  const keys = document.keys(issue.path)
  const selected = sourceKinds.findIndex((kind) => keys.includes(kind))
  if (selected < 0) {
    const misspelt = keys
      .map((key) => findNearest(key, sourceKinds))
      .find((one) => one !== undefined)
    const hint = misspelt === undefined ? '' : `. Did you mean "${misspelt}"?`
    const message = `${toText(issue.path)}: a source needs one of the keys ${sourceKinds.join(', ')}${hint}`
    return [{ at: document.at(issue.path), message }]
  }
  const [first, second] = sourceKinds.filter((kind) => keys.includes(kind))
  if (second !== undefined) {
    const message = `${toText(issue.path)} has the keys ${first} and ${second}. A source has one of them: make two sources.`
    return [{ at: document.keyAt(issue.path, second), message }]
  }
  return (issue.errors[selected] ?? []).flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

/** Reports only the errors of the alternative that was meant: the one that the keys fit best. */
function explainUnion(
  issue: Issue & { code: 'invalid_union' },
  document: YamlReading,
): ConfigError[] {
  const keys = document.keys(issue.path)
  const [best] = issue.errors
    .filter((errors) => !errors.some(isOfWrongType))
    .map((errors) => ({ errors, distance: countMisfits(errors, keys) }))
    .sort((a, b) => a.distance - b.distance)
  if (!best || (best.distance > 0 && issue.message !== anyUnion)) {
    const message = `${toText(issue.path)}: ${issue.message}`
    return [{ at: document.at(issue.path), message }]
  }
  return best.errors.flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

/** The value as a whole has another type, also than all alternatives of a union inside the union. */
const isOfWrongType = (issue: Issue): boolean =>
  issue.path.length === 0 &&
  (issue.code === 'invalid_type' ||
    (issue.code === 'invalid_union' && issue.errors.every((errors) => errors.some(isOfWrongType))))

/** The message of a union that has none of its own. */
const anyUnion = 'Invalid input'

/** The keys that an alternative does not know, and those that it misses; a misspelt key is neither. */
function countMisfits(errors: readonly Issue[], keys: readonly string[]): number {
  const missing = errors
    .filter(({ path }) => path.length === 1)
    .map(({ path }) => String(path[0]))
    .filter((key) => !keys.includes(key))
  const unknown = errors.flatMap((issue) =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [],
  )
  const misspelt = unknown.filter((key) => findNearest(key, missing) !== undefined)
  return missing.length + unknown.length - 2 * misspelt.length
}

const sourceKinds = [
  'manifest',
  'definitions',
  'openapi',
  'intents',
  'records',
  'source',
  'service',
  'module',
]

const toText = (path: Path): string => (path.length === 0 ? 'the top level' : `/${path.join('/')}`)

/** The valid keys at a path of the configuration, in the alternatives of unions that are in use. */
function knownKeys(path: Path, document: YamlReading): string[] {
  let shapes = [z.toJSONSchema(configShape, { io: 'input' }) as Shape]
  for (const [index, step] of path.entries())
    shapes = toAlternatives(shapes, document.keys(path.slice(0, index))).flatMap(
      ({ properties, items, additionalProperties }) => {
        const next = properties?.[String(step)] ?? items ?? additionalProperties
        return typeof next === 'object' ? [next as Shape] : []
      },
    )
  return toAlternatives(shapes, document.keys(path)).flatMap((one) =>
    Object.keys(one.properties ?? {}),
  )
}

/** Those whose required keys are there; all of them if there are none. */
function toAlternatives(shapes: readonly Shape[], keys: readonly string[]): readonly Shape[] {
  const all = shapes.flatMap((shape) => (shape.anyOf ? toAlternatives(shape.anyOf, keys) : [shape]))
  const fitting = all.filter(({ required = [] }) => required.every((key) => keys.includes(key)))
  return fitting.length > 0 ? fitting : all
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}
