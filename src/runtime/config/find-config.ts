import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'
import { configShape } from './config-shape.ts'
import { type ConfigReading, readConfig } from './read-config.ts'

export interface Configuration extends ConfigReading {
  /** Base of relative paths in the configuration. */
  readonly folder: string
  /** The file that was read. */
  readonly file: string
}

const moduleExtensions = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'])
const configNames = ['drawbridge.yaml', 'drawbridge.yml', 'drawbridge.json']

/** Finds a configuration: in a file or a folder, or made up for a single manifest or module. */
export async function findConfig(
  what: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Configuration> {
  const file = await toFile(path.resolve(what))
  const folder = path.dirname(file)
  if (!moduleExtensions.has(path.extname(file))) {
    if (!(await isManifest(file))) return { ...(await readConfig(file, environment)), folder, file }
    const config = configShape.parse({ sources: [{ manifest: path.basename(file) }] })
    return { config, secrets: [], variables: [], folder, file }
  }
  const name = path.basename(file, path.extname(file))
  const config = configShape.parse({ name, sources: [{ module: path.basename(file) }] })
  return { config, secrets: [], variables: [], folder, file }
}

/** File of the ledger. Default: `drawbridge.db` beside the configuration. */
export const toStore = ({ config, folder }: Configuration): string =>
  path.resolve(folder, config.store ?? 'drawbridge.db')

/** Recognized by its content, because a manifest may have any file name. Its source parses it fully. */
async function isManifest(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8')
  const hasKey = (key: string) =>
    new RegExp(`^(?:\\{?\\s*["']${key}["']|${key})\\s*:`, 'm').test(text)
  return hasKey('schema_version') && !hasKey('sources')
}

async function toFile(target: string): Promise<string> {
  const stats = await stat(target).catch(() => undefined)
  if (stats?.isFile()) return target
  if (!stats) throw new SetupError(`${target} does not exist.`)
  for (const name of configNames) {
    const candidate = path.join(target, name)
    if ((await stat(candidate).catch(() => undefined))?.isFile()) return candidate
  }
  throw new SetupError(`${target} has no drawbridge.yaml.`)
}
