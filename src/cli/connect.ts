import { stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { defineCommand } from 'citty'
import { SetupError } from '../capability/setup-error.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Config } from '../runtime/config/config-shape.ts'
import { findConfig } from '../runtime/config/find-config.ts'
import { removeJsonc, setJsonc } from './connect/edit-jsonc.ts'
import { parseJsonc } from './connect/parse-jsonc.ts'
import { readTextFile, replaceTextFile } from './connect/replace-file.ts'
import { descriptions } from './descriptions.ts'
import { printJson, printMessage } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

interface Client {
  readonly file: () => string
  /** The key of its server list in that file. */
  readonly key: string
  readonly restart: string
}

const clients: Readonly<Record<string, Client>> = {
  'claude-desktop': {
    file: () => path.join(toAppData(), 'Claude', 'claude_desktop_config.json'),
    key: 'mcpServers',
    restart: 'Restart Claude Desktop.',
  },
  'claude-code': {
    file: () => path.resolve('.mcp.json'),
    key: 'mcpServers',
    restart: 'Start claude in this folder.',
  },
  cursor: {
    file: () => path.resolve('.cursor', 'mcp.json'),
    key: 'mcpServers',
    restart: 'Open this folder in Cursor.',
  },
  vscode: {
    file: () => path.resolve('.vscode', 'mcp.json'),
    key: 'servers',
    restart: 'Open this folder in VS Code.',
  },
}

export const connect = defineCommand({
  meta: { name: 'connect', description: descriptions.connect },
  args: {
    client: { type: 'positional', required: true, description: Object.keys(clients).join(', ') },
    what: {
      type: 'positional',
      required: false,
      default: '.',
      description: 'a drawbridge.yaml, its folder, an agent.yaml, or a module',
    },
    mount: {
      type: 'string',
      description: 'mount to connect to (default: the only mount, or /mcp)',
    },
    url: {
      type: 'string',
      description: 'URL of a running server (default: the client starts one over stdio)',
    },
    name: {
      type: 'string',
      description: 'name of the server in the client (default: its name in the configuration)',
    },
    write: { type: 'boolean', description: "merge it into the client's file, and keep a backup" },
    json: { type: 'boolean', description: 'no effect: the output is always JSON' },
  },
  async run({ args }) {
    const client = Object.hasOwn(clients, args.client) ? clients[args.client] : undefined
    if (!client)
      throw new UsageError(
        `Unknown client "${args.client}". Available: ${Object.keys(clients).join(', ')}.`,
      )
    const { name, entry, variables = [] } = await toEntry(args as ConnectFlags)
    const addition = { [client.key]: { [name]: entry } }
    if (variables.length > 0)
      printMessage(
        `The server needs ${variables.join(', ')} in its environment: add them under "env".`,
      )
    if (!args.write) {
      printJson(addition)
      if (lacksToken(entry)) printMessage(`Replace "${placeholder}" with ${tokenDescription}.`)
      printMessage(`Add this to ${client.file()}; --write merges it there.`)
      return 0
    }
    const entryInFile = await merge(client, name, entry)
    printMessage(`Added ${name} to ${client.file()}. ${toNextStep(client, entryInFile)}`)
    return 0
  },
})

const tokenDescription = 'the token that "drawbridge grants create" printed'

/** The next step is the token if it is missing, because the server does not start without one. */
const toNextStep = ({ restart }: Client, entryInFile: object): string =>
  lacksToken(entryInFile)
    ? `The token is missing: set DRAWBRIDGE_TOKEN to ${tokenDescription} and run this again, or replace "${placeholder}" in the file.`
    : restart

interface ConnectFlags {
  readonly mount: string | undefined
  readonly url: string | undefined
  readonly name: string | undefined
  readonly what: string
}

/** An HTTP entry for a server that is running, or a stdio entry that starts one. */
async function toEntry({ url, name, what, mount }: ConnectFlags) {
  const token = process.env.DRAWBRIDGE_TOKEN ?? placeholder
  if (url !== undefined) {
    if (!URL.canParse(url)) throw new UsageError(`--url must be a URL, not ${JSON.stringify(url)}.`)
    const config = (await findConfig(what, process.env).catch(() => undefined))?.config
    const needsGrant = config !== undefined && isLocalRecords(config, new URL(url).pathname)
    const headers = { Authorization: `Bearer ${token}` }
    return {
      name: name ?? config?.name ?? 'drawbridge',
      entry: { type: 'http', url, ...(needsGrant && { headers }) },
    }
  }
  const { config, file, variables } = await findConfig(what, process.env)
  const mounts = new Set(config.sources.map((source) => source.mount))
  if (mount !== undefined && !mounts.has(mount))
    throw new UsageError(`There is no mount ${mount}. Available: ${[...mounts].join(', ')}.`)
  const needsGrant = isLocalRecords(config, mount ?? (mounts.size === 1 ? [...mounts][0] : '/mcp'))
  return {
    name: name ?? config.name ?? 'drawbridge',
    entry: { ...toCommand(file, mount), ...(needsGrant && { env: { DRAWBRIDGE_TOKEN: token } }) },
    variables,
  }
}

const placeholder = 'the token of a grant'

const lacksToken = (entry: object): boolean => JSON.stringify(entry).includes(placeholder)

/** Clients of a local records store need a grant; for a remote one the configuration has the token. */
const isLocalRecords = ({ sources }: Config, mount: string | undefined): boolean =>
  sources.some(
    (source) => 'records' in source && typeof source.records === 'string' && source.mount === mount,
  )

/** Starts this installation; a copy in the npx cache may be deleted, so that one is started with npx. */
function toCommand(
  what: string,
  mount: string | undefined,
): { type: string; command: string; args: string[] } {
  const main = fileURLToPath(new URL('../cli/main.js', import.meta.url))
  const words = ['serve', what, '--stdio', ...(mount === undefined ? [] : ['--mount', mount])]
  return main.includes(`${path.sep}_npx${path.sep}`)
    ? { type: 'stdio', command: 'npx', args: ['-y', 'drawbridge-mcp', ...words] }
    : { type: 'stdio', command: process.execPath, args: [main, ...words] }
}

type Entry = Readonly<Record<string, unknown>>

/** Keeps every other character of the file, and a backup beside it. */
async function merge(client: Client, name: string, entry: Entry): Promise<Entry> {
  const file = client.file()
  const { target, text: before } = await readTextFile(file)
  const after = mergeText({ text: before ?? '{}\n', file }, [client.key, name], entry)
  if (after.text !== before) {
    if (before !== undefined) await replaceTextFile(`${file}.bak`, before, target)
    await replaceTextFile(target, after.text, target)
  }
  if (holdsSecret(after.entry)) await warnOfExposure(target)
  return after.entry
}

function mergeText(
  { text, file }: { readonly text: string; readonly file: string },
  path: readonly [key: string, name: string],
  entry: Entry,
): { readonly text: string; readonly entry: Entry } {
  const [key, name] = path
  const servers = parse(text, file)[key] ?? {}
  if (!isPlainObject(servers)) throw new SetupError(`${key} in ${file} is not an object.`)
  const existing = Object.hasOwn(servers, name) ? servers[name] : undefined
  const merged = mergeEntry(existing, entry)
  let edited = text
  if (isPlainObject(existing)) {
    for (const [field, value] of flatten(merged))
      edited = setJsonc(edited, [...path, ...field], value)
    for (const field of Object.keys(existing))
      if (!Object.hasOwn(merged, field)) edited = removeJsonc(edited, [...path, field])
  } else edited = setJsonc(edited, path, merged)
  const result = parse(edited, file)[key]
  if (!isPlainObject(result) || !isDeepStrictEqual(result, { ...servers, [name]: merged }))
    throw new SetupError(`${file} cannot be merged, so nothing was written. Add the entry by hand.`)
  return { text: edited, entry: merged }
}

/** Fields that belong together: one that the new entry does not have would contradict it. */
const ownFields = ['type', 'command', 'args', 'url']

/** Keeps fields, variables and headers that a user has added; a token that was put in by hand cannot be shown again. */
function mergeEntry(existing: unknown, entry: Entry): Entry {
  if (!isPlainObject(existing)) return entry
  const kept = Object.entries(existing).filter(
    ([field]) => !ownFields.includes(field) || field in entry,
  )
  const parts = (['env', 'headers'] as const).flatMap((key) => {
    const [former, added] = [existing[key], entry[key]]
    if (!isPlainObject(added)) return []
    const known = isPlainObject(former) ? former : {}
    const changed = Object.entries(added).filter(
      ([name, value]) => !(lacksToken({ value }) && name in known),
    )
    return [[key, { ...known, ...Object.fromEntries(changed) }]]
  })
  return { ...Object.fromEntries(kept), ...entry, ...Object.fromEntries(parts) }
}

/** Members to set; variables and headers one by one, so that comments between them stay. */
const flatten = (entry: Entry): [path: string[], value: unknown][] =>
  Object.entries(entry).flatMap(([field, value]) =>
    isPlainObject(value) && Object.keys(value).length > 0
      ? Object.entries(value).map(([name, one]): [string[], unknown] => [[field, name], one])
      : [[[field], value] as [string[], unknown]],
  )

const holdsSecret = (entry: Entry): boolean => 'env' in entry || 'headers' in entry

async function warnOfExposure(file: string): Promise<void> {
  const { mode } = await stat(file)
  if (process.platform !== 'win32' && (mode & 0o044) !== 0)
    printMessage(`Other users can read ${file}, which contains credentials. Run: chmod 600 ${file}`)
}

function parse(text: string, file: string): Record<string, unknown> {
  let settings: unknown
  try {
    settings = parseJsonc(text).value
  } catch (error) {
    throw new SetupError(
      `${file} is not valid JSON, so nothing was written: ${(error as Error).message}`,
    )
  }
  if (isPlainObject(settings)) return settings
  throw new SetupError(`${file} is not a JSON object, so nothing was written.`)
}

function toAppData(): string {
  if (process.platform === 'darwin')
    return path.join(os.homedir(), 'Library', 'Application Support')
  if (process.platform === 'win32') return process.env.APPDATA ?? os.homedir()
  return process.env.XDG_CONFIG_HOME ?? path.join(os.homedir(), '.config')
}
