import { stat } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'
import { readYaml } from '../../yaml/read-yaml.ts'
import { toReadError } from '../file-errors.ts'
import { readTextFile } from '../read-text-file.ts'
import { type ConfigInput, configShape } from './config-shape.ts'
import { type ConfigReading, readConfig } from './read-config.ts'
import type { UnsetVariables } from './unset-variables.ts'

export interface Configuration extends ConfigReading {
  /** Base of relative paths in the configuration. */
  readonly folder: string
  /** The file that was read. */
  readonly file: string
}

const moduleExtensions = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'])
const configNames = ['drawbridge.yaml', 'drawbridge.yml', 'drawbridge.json']
const manifestNames = ['agent.yaml', 'agent.yml', 'agent.json']

/** Finds a configuration: in a file or a folder, or made up for a single manifest or module. */
export async function findConfig(
  what: string,
  environment: Readonly<Record<string, string | undefined>>,
  unset?: UnsetVariables,
): Promise<Configuration> {
  const file = await toFile(path.resolve(what))
  const folder = path.dirname(file)
  const base = path.basename(file)
  if (moduleExtensions.has(path.extname(file))) {
    const name = path.basename(file, path.extname(file))
    return toConfiguration({ name, sources: [{ module: base }] }, folder, file)
  }
  if (await isManifest(file))
    return toConfiguration({ sources: [{ manifest: base }] }, folder, file)
  return { ...(await readConfig(file, environment, unset)), folder, file }
}

/** A configuration that is not in a file. */
function toConfiguration(input: ConfigInput, folder: string, file: string): Configuration {
  const config = configShape.parse(input)
  return { config, written: config, secrets: [], variables: [], folder, file }
}

/** File of the ledger. Default: `drawbridge.db` beside the configuration. */
export const toStore = ({ config, folder }: Configuration): string =>
  path.resolve(folder, config.store ?? 'drawbridge.db')

/**
 * Recognized by its content, because a manifest may have any file name; where the content does not tell, by
 * the name. Whatever else is wrong is reported by the reader of that kind of file.
 */
async function isManifest(file: string): Promise<boolean> {
  const name = path.basename(file)
  const isNamed = manifestNames.includes(name)
  const text = await readTextFile(file).catch((error) => {
    // The source of the manifest reports it, with a position.
    if (isNamed) return undefined
    throw error
  })
  if (text === undefined) return true
  const keys = findKeys(text, file)
  if (keys.has('sources') !== keys.has('schema_version')) return keys.has('schema_version')
  if (isNamed || configNames.includes(name)) return isNamed
  if (text.trim() === '') throw new SetupError(`${file} is empty.`)
  if (['identity', 'capabilities', 'interfaces'].some((key) => keys.has(key))) return true
  if (keys.size > 0 && !Object.keys(configShape.shape).some((key) => keys.has(key)))
    throw new SetupError(
      `${file} is neither an agent manifest (it has no "schema_version") nor a configuration (it has no "sources").`,
    )
  return false
}

/** The keys of the top level: a quick look at written lines, and a full parse if it does not tell. */
function findKeys(text: string, file: string): ReadonlySet<string> {
  const lines = [...text.matchAll(/^(?:\{?[ \t]*["']([\w-]+)["']|([\w-]+))[ \t]*:/gm)]
  const keys = new Set(lines.flatMap(([, quoted, plain]) => quoted ?? plain ?? []))
  if (keys.has('sources') !== keys.has('schema_version')) return keys
  return new Set(readYaml(text, file).keys([]))
}

async function toFile(target: string): Promise<string> {
  const stats = await stat(target).catch((error) => {
    throw toReadError(target, error)
  })
  if (!stats.isDirectory()) return target
  for (const name of [...configNames, ...manifestNames]) {
    const candidate = path.join(target, name)
    if ((await stat(candidate).catch(() => undefined))?.isFile()) return candidate
  }
  throw new SetupError(`${target} is a folder without drawbridge.yaml and agent.yaml.`)
}
