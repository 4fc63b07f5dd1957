import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { SetupError } from '../../capability/setup-error.ts'
import { readYaml, type YamlReading } from '../../yaml/read-yaml.ts'
import { type Config, configShape } from './config-shape.ts'
import { findNearest } from './did-you-mean.ts'

export interface ConfigReading {
  readonly config: Config
  /** Values from the environment; they must not appear in results. */
  readonly secrets: readonly string[]
  /** Names of these environment variables. */
  readonly variables: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads `drawbridge.yaml`. Reports all errors at once, each with file, line and column. */
export async function readConfig(file: string, environment: Environment): Promise<ConfigReading> {
  const document = readYaml(await readFile(file, 'utf8'), file)
  const [broken] = document.faults
  if (broken) throw new SetupError(`${broken.at} ${broken.message}`)

  const secrets = new Map<string, string>()
  const errors: string[] = []
  const unset = new Set<string>()
  const value = resolve(document.value ?? {}, [], (name, path) => {
    const secret = environment[name]
    if (secret === undefined) {
      unset.add(path.join('/'))
      errors.push(`${document.at(path)} env://${name} is not set in the environment`)
    } else secrets.set(name, secret)
    return secret ?? ''
  })
  const parsed = configShape.safeParse(value)
  if (!parsed.success) {
    // Ignore errors about the placeholder of an unset variable.
    const issues = parsed.error.issues.filter(({ path }) => !unset.has(path.join('/')))
    for (const { at, message } of issues.flatMap((issue) => explain(issue, document)))
      errors.push(`${at} ${message}`)
  }
  if (!parsed.success || errors.length > 0) throw new SetupError(errors.join('\n'))
  return { config: parsed.data, secrets: [...secrets.values()], variables: [...secrets.keys()] }
}

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
      const nearest = findNearest(key, knownKeys(issue.path))
      const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
      const message = `unknown key "${key}" at ${toPath(issue.path)}.${hint}`
      return { at: document.keyAt(issue.path, key), message }
    })
  if (issue.code === 'invalid_union' && issue.path[0] === 'sources')
    return issue.path.length === 2 ? explainSource(issue, document) : explainUnion(issue, document)
  return [{ at: document.at(issue.path), message: `${toPath(issue.path)}: ${issue.message}` }]
}

/** Reports only the errors of the kind of source that the keys select, not of every kind. */
function explainSource(
  issue: Issue & { code: 'invalid_union' },
  document: YamlReading,
): ConfigError[] {
  const keys = document.keys(issue.path)
  const selected = sourceKinds.findIndex((kind) => keys.includes(kind))
  if (selected < 0) {
    const message = `${toPath(issue.path)}: a source needs one of the keys ${sourceKinds.join(', ')}`
    return [{ at: document.at(issue.path), message }]
  }
  const [first, second] = sourceKinds.filter((kind) => keys.includes(kind))
  if (second !== undefined) {
    const message = `${toPath(issue.path)} has the keys ${first} and ${second}. A source has one of them: make two sources.`
    return [{ at: document.keyAt(issue.path, second), message }]
  }
  return (issue.errors[selected] ?? []).flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

/** Reports only the errors of the alternative that has the right type. */
function explainUnion(
  issue: Issue & { code: 'invalid_union' },
  document: YamlReading,
): ConfigError[] {
  const selected =
    issue.errors.find((errors) => errors.some(({ path }) => path.length > 0)) ??
    issue.errors.find((errors) => errors.every(({ code }) => code !== 'invalid_type'))
  if (!selected) {
    const message = `${toPath(issue.path)}: ${issue.message}`
    return [{ at: document.at(issue.path), message }]
  }
  return selected.flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

const sourceKinds = ['manifest', 'definitions', 'intents', 'records', 'source', 'service', 'module']

const toPath = (path: Path): string => (path.length === 0 ? 'the top level' : `/${path.join('/')}`)

/** The valid keys at a path of the configuration. */
function knownKeys(path: Path): string[] {
  let shapes = [z.toJSONSchema(configShape, { io: 'input' }) as Shape].flatMap(toAlternatives)
  for (const step of path)
    shapes = shapes
      .flatMap(({ properties, items, additionalProperties }) => {
        const next = properties?.[String(step)] ?? items ?? additionalProperties
        return typeof next === 'object' ? [next as Shape] : []
      })
      .flatMap(toAlternatives)
  return shapes.flatMap((one) => Object.keys(one.properties ?? {}))
}

const toAlternatives = (shape: Shape): readonly Shape[] =>
  shape.anyOf ? shape.anyOf.flatMap(toAlternatives) : [shape]

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly additionalProperties?: unknown
}
