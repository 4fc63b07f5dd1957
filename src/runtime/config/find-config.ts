import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'
import { configShape } from './config-shape.ts'
import { type ConfigReading, readConfig } from './read-config.ts'

export interface Found extends ConfigReading {
  /** What the paths in the configuration are relative to. */
  readonly folder: string
  /** What was read, for watching it. */
  readonly file: string
}

const moduleExtensions = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'])
const configNames = ['drawbridge.yaml', 'drawbridge.yml', 'drawbridge.json']

/** From what a user points at (a configuration, its folder, a module) to a configuration. */
export async function findConfig(
  what: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Found> {
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

/** The ledger's file: beside the configuration, unless that says otherwise. */
export const toStore = ({ config, folder }: Found): string =>
  path.resolve(folder, config.store ?? 'drawbridge.db')

/** By what it says, not by its name: an agent's file may have any. Read in full by its source. */
async function isManifest(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8')
  const says = (key: string) =>
    new RegExp(`^(?:\\{?\\s*["']${key}["']|${key})\\s*:`, 'm').test(text)
  return says('schema_version') && !says('sources')
}

async function toFile(target: string): Promise<string> {
  const found = await stat(target).catch(() => undefined)
  if (found?.isFile()) return target
  if (!found) throw new SetupError(`${target} does not exist.`)
  for (const name of configNames) {
    const candidate = path.join(target, name)
    if ((await stat(candidate).catch(() => undefined))?.isFile()) return candidate
  }
  throw new SetupError(`${target} has no drawbridge.yaml.`)
}
