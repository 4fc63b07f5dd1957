import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { SetupError } from '../../capability/setup-error.ts'
import { readYaml, type YamlReading } from '../../yaml/read-yaml.ts'
import { type Config, configShape } from './config-shape.ts'
import { nearest } from './nearest.ts'

export interface ConfigReading {
  readonly config: Config
  /** Values that came from the environment and must not leave. */
  readonly secrets: readonly string[]
  /** The names they go by there. */
  readonly variables: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads `drawbridge.yaml`. Every complaint names file, line and column, all of them at once. */
export async function readConfig(file: string, environment: Environment): Promise<ConfigReading> {
  const document = readYaml(await readFile(file, 'utf8'), file)
  const [broken] = document.faults
  if (broken) throw new SetupError(`${broken.at} ${broken.message}`)

  const secrets = new Map<string, string>()
  const complaints: string[] = []
  const unset = new Set<string>()
  const value = resolve(document.value ?? {}, [], (name, path) => {
    const secret = environment[name]
    if (secret === undefined) {
      unset.add(path.join('/'))
      complaints.push(`${document.at(path)} env://${name} is not set in the environment`)
    } else secrets.set(name, secret)
    return secret ?? ''
  })
  const parsed = configShape.safeParse(value)
  if (!parsed.success) {
    // What stands for a value that is missing cannot be judged.
    const issues = parsed.error.issues.filter(({ path }) => !unset.has(path.join('/')))
    for (const { at, words } of issues.flatMap((issue) => explain(issue, document)))
      complaints.push(`${at} ${words}`)
  }
  if (!parsed.success || complaints.length > 0) throw new SetupError(complaints.join('\n'))
  return { config: parsed.data, secrets: [...secrets.values()], variables: [...secrets.keys()] }
}

type Path = readonly PropertyKey[]

/** Puts what `env://NAME` stands for in its place. */
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

interface Complaint {
  readonly at: string
  readonly words: string
}

type Issue = z.core.$ZodIssue

function explain(issue: Issue, document: YamlReading): Complaint[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const closest = nearest(key, knownKeys(issue.path))
      const hint = closest === undefined ? '' : ` Did you mean "${closest}"?`
      const words = `unknown key "${key}" at ${toPath(issue.path)}.${hint}`
      return { at: document.keyAt(issue.path, key), words }
    })
  if (issue.code === 'invalid_union' && issue.path[0] === 'sources')
    return issue.path.length === 2 ? explainSource(issue, document) : explainUnion(issue, document)
  return [{ at: document.at(issue.path), words: `${toPath(issue.path)}: ${issue.message}` }]
}

/** Of a union of sources, only the one that was meant has anything to say. */
function explainSource(
  issue: Issue & { code: 'invalid_union' },
  document: YamlReading,
): Complaint[] {
  const keys = document.keys(issue.path)
  const meant = sourceKinds.findIndex((kind) => keys.includes(kind))
  if (meant < 0) {
    const words = `${toPath(issue.path)}: a source needs one of the keys ${sourceKinds.join(', ')}`
    return [{ at: document.at(issue.path), words }]
  }
  return (issue.errors[meant] ?? []).flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

/** Of any other union, the alternative that has the right type at all. */
function explainUnion(
  issue: Issue & { code: 'invalid_union' },
  document: YamlReading,
): Complaint[] {
  const meant =
    issue.errors.find((errors) => errors.some(({ path }) => path.length > 0)) ??
    issue.errors.find((errors) => errors.every(({ code }) => code !== 'invalid_type'))
  if (!meant) {
    const words = `${toPath(issue.path)}: ${issue.message}`
    return [{ at: document.at(issue.path), words }]
  }
  return meant.flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

const sourceKinds = ['manifest', 'definitions', 'intents', 'records', 'source', 'service', 'module']

const toPath = (path: Path): string => (path.length === 0 ? 'the top' : `/${path.join('/')}`)

/** The keys that would have been understood at a place of the configuration. */
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
