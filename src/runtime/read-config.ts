import { readFile } from 'node:fs/promises'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { SetupError } from '../capability/setup-error.ts'
import { type Config, configShape } from './config.ts'
import { nearest } from './nearest.ts'

export interface ConfigReading {
  readonly config: Config
  /** Values that came from the environment and must not leave. */
  readonly secrets: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads `drawbridge.yaml`. Every complaint names file, line and column, all of them at once. */
export async function readConfig(file: string, environment: Environment): Promise<ConfigReading> {
  const lines = new LineCounter()
  const document = parseDocument(await readFile(file, 'utf8'), { lineCounter: lines })
  const at = (offset: number | undefined): string => {
    const { line, col } = lines.linePos(offset ?? 0)
    return `${file}:${line}:${col}`
  }
  const [broken] = document.errors
  if (broken) throw new SetupError(`${at(broken.pos[0])} ${broken.message.split('\n')[0]}`)

  const secrets: string[] = []
  const complaints: string[] = []
  const unset = new Set<string>()
  const value = resolve(document.toJS({ maxAliasCount: 100 }) ?? {}, [], (name, path) => {
    const secret = environment[name]
    if (secret === undefined) {
      unset.add(path.join('/'))
      complaints.push(`${at(offsetOf(document, path))} env://${name} is not set in the environment`)
    } else secrets.push(secret)
    return secret ?? ''
  })
  const parsed = configShape.safeParse(value)
  if (!parsed.success) {
    // What stands for a value that is missing cannot be judged.
    const issues = parsed.error.issues.filter(({ path }) => !unset.has(path.join('/')))
    for (const { offset, words } of issues.flatMap((issue) => explain(issue, document)))
      complaints.push(`${at(offset)} ${words}`)
  }
  if (!parsed.success || complaints.length > 0) throw new SetupError(complaints.join('\n'))
  return { config: parsed.data, secrets }
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
  readonly offset: number | undefined
  readonly words: string
}

type Issue = z.core.$ZodIssue

function explain(issue: Issue, document: Document): Complaint[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const closest = nearest(key, knownKeys(issue.path))
      const hint = closest === undefined ? '' : ` Did you mean "${closest}"?`
      const words = `unknown key "${key}" at ${toPath(issue.path)}.${hint}`
      return { offset: keyOffset(document, issue.path, key), words }
    })
  if (issue.code === 'invalid_union' && issue.path[0] === 'sources')
    return explainSource(issue, document)
  return [
    { offset: offsetOf(document, issue.path), words: `${toPath(issue.path)}: ${issue.message}` },
  ]
}

/** Of a union of sources, only the one that was meant has anything to say. */
function explainSource(issue: Issue & { code: 'invalid_union' }, document: Document): Complaint[] {
  const written = document.getIn(issue.path)
  const keys = isMap(written) ? written.items.map(({ key }) => String(key)) : []
  const later = keys.find((key) => plannedKinds.includes(key))
  if (later !== undefined) {
    const words = `${toPath(issue.path)}: this version has no ${later} sources yet`
    return [{ offset: keyOffset(document, issue.path, later), words }]
  }
  const meant = sourceKinds.findIndex((kind) => keys.includes(kind))
  if (meant < 0) {
    const words = `${toPath(issue.path)}: a source needs one of the keys ${sourceKinds.join(', ')}`
    return [{ offset: offsetOf(document, issue.path), words }]
  }
  return (issue.errors[meant] ?? []).flatMap((inner) =>
    explain({ ...inner, path: [...issue.path, ...inner.path] } as Issue, document),
  )
}

const sourceKinds = ['definitions', 'source']
const plannedKinds = ['manifest', 'intents', 'records', 'service']

const toPath = (path: Path): string => (path.length === 0 ? 'the top' : `/${path.join('/')}`)

const offsetOf = (document: Document, path: Path): number | undefined => {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return undefined
}

function keyOffset(document: Document, path: Path, key: string): number | undefined {
  const map = path.length === 0 ? document.contents : document.getIn(path, true)
  const pair = isMap(map) ? map.items.find((item) => String(item.key) === key) : undefined
  return isScalar(pair?.key) ? pair.key.range?.[0] : offsetOf(document, path)
}

/** The keys that would have been understood at a place of the configuration. */
function knownKeys(path: Path): string[] {
  let shape = z.toJSONSchema(configShape, { io: 'input' }) as Shape
  for (const step of path)
    shape =
      shape.properties?.[String(step)] ?? shape.items ?? (shape.additionalProperties as Shape) ?? {}
  const shapes = shape.anyOf ?? [shape]
  return shapes.flatMap((one) => Object.keys(one.properties ?? {}))
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly additionalProperties?: unknown
}
