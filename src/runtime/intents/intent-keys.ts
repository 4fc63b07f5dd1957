import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'
import type { SourceConfig } from '../config/config-shape.ts'

export type IntentsConfig = Extract<SourceConfig, { intents: unknown }>['intents']

type Mapping = Extract<IntentsConfig, { agents: unknown }>

export const toMapping = (
  config: IntentsConfig,
): Pick<Mapping, 'agents' | 'keys'> & Partial<Mapping> =>
  typeof config === 'string' || Array.isArray(config) ? { agents: config, keys: {} } : config

/** The text of each key, inline or from its file. */
export async function readKeys(
  keys: Mapping['keys'],
  folder: string,
): Promise<Record<string, string>> {
  const entries = Object.entries(keys).map(async ([kid, key]) => {
    if (typeof key === 'string') return [kid, key] as const
    const file = path.resolve(folder, key.file)
    const text = await readFile(file, 'utf8').catch((error: Error) => {
      throw new SetupError(`The file of key ${kid} cannot be read: ${error.message}`)
    })
    return [kid, text.trim()] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
