import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineCommand } from 'citty'
import { isPlainObject } from '../capability/json.ts'
import { SetupError } from '../capability/setup-error.ts'
import type { Config } from '../runtime/config/config-shape.ts'
import { findConfig } from '../runtime/config/find-config.ts'
import { printJson, say } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

interface Client {
  readonly file: () => string
  /** The key its servers stand under. */
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
  meta: {
    name: 'connect',
    description: `Prints what ${Object.keys(clients).join(', ')} needs to start this server; --write puts it there.`,
  },
  args: {
    client: { type: 'positional', required: true, description: Object.keys(clients).join(', ') },
    what: {
      type: 'positional',
      required: false,
      default: '.',
      description: 'a drawbridge.yaml, its folder, or a module',
    },
    mount: { type: 'string', description: 'which mount it starts, where there are several' },
    url: { type: 'string', description: 'connect to a server that is already running there' },
    name: { type: 'string', description: 'what the client calls it' },
    write: { type: 'boolean', description: "merge it into the client's own file" },
    json: { type: 'boolean', description: 'machine-readable output (it always is)' },
  },
  async run({ args }) {
    const client = Object.hasOwn(clients, args.client) ? clients[args.client] : undefined
    if (!client)
      throw new UsageError(
        `There is no client "${args.client}". There is: ${Object.keys(clients).join(', ')}`,
      )
    const { name, entry, variables = [] } = await toEntry(args as Where)
    const addition = { [client.key]: { [name]: entry } }
    if (variables.length > 0)
      say(`It will need ${variables.join(', ')} in its environment: put them under "env".`)
    if (!args.write) {
      printJson(addition)
      if (lacksToken(entry)) say(`Put ${tokenWords} where it says "${placeholder}".`)
      say(`This belongs into ${client.file()}; --write merges it there.`)
      return 0
    }
    const written = await merge(client, name, entry)
    say(`${name} is in ${client.file()}. ${toNext(client, written)}`)
    return 0
  },
})

const tokenWords = 'the token that "drawbridge grants create" printed'

/** What is not there yet would only fail to start. */
const toNext = ({ restart }: Client, written: object): string =>
  lacksToken(written)
    ? `It has no token yet: set DRAWBRIDGE_TOKEN to ${tokenWords} and say this again, or put it there yourself where it says "${placeholder}".`
    : restart

interface Where {
  readonly mount: string | undefined
  readonly url: string | undefined
  readonly name: string | undefined
  readonly what: string
}

/** A server that runs already is known by its address; one to be started, by its configuration. */
async function toEntry({ url, name, what, mount }: Where) {
  const token = process.env.DRAWBRIDGE_TOKEN ?? placeholder
  if (url !== undefined) {
    if (!URL.canParse(url))
      throw new UsageError(`--url must be an address, not ${JSON.stringify(url)}.`)
    const config = (await findConfig(what, process.env).catch(() => undefined))?.config
    const isReader = config !== undefined && asksForGrant(config, new URL(url).pathname)
    const headers = { Authorization: `Bearer ${token}` }
    return {
      name: name ?? config?.name ?? 'drawbridge',
      entry: { type: 'http', url, ...(isReader && { headers }) },
    }
  }
  const { config, file, variables } = await findConfig(what, process.env)
  const mounts = new Set(config.sources.map((source) => source.mount))
  if (mount !== undefined && !mounts.has(mount))
    throw new UsageError(`There is no mount ${mount}. There is: ${[...mounts].join(', ')}.`)
  const isReader = asksForGrant(config, mount ?? (mounts.size === 1 ? [...mounts][0] : '/mcp'))
  return {
    name: name ?? config.name ?? 'drawbridge',
    entry: { ...toCommand(file, mount), ...(isReader && { env: { DRAWBRIDGE_TOKEN: token } }) },
    variables,
  }
}

/** Until somebody has put theirs in its place. */
const placeholder = 'the token of a grant'

const lacksToken = (entry: object): boolean => JSON.stringify(entry).includes(placeholder)

/** Records that lie elsewhere are read with one grant that the configuration holds. */
const asksForGrant = ({ sources }: Config, mount: string | undefined): boolean =>
  sources.some(
    (source) => 'records' in source && typeof source.records === 'string' && source.mount === mount,
  )

/** How to start this very installation; through npx where it is only a cache of npx. */
function toCommand(
  what: string,
  mount: string | undefined,
): { type: string; command: string; args: string[] } {
  const main = fileURLToPath(new URL('./main.js', import.meta.url))
  const words = ['serve', what, '--stdio', ...(mount === undefined ? [] : ['--mount', mount])]
  return main.includes(`${path.sep}_npx${path.sep}`)
    ? { type: 'stdio', command: 'npx', args: ['-y', 'drawbridge-mcp', ...words] }
    : { type: 'stdio', command: process.execPath, args: [main, ...words] }
}

type Entry = Readonly<Record<string, unknown>>

/** Nothing else in the file is touched, and what it was before stays beside it. */
async function merge(client: Client, name: string, entry: Entry): Promise<object> {
  const file = client.file()
  const before = await readFile(file, 'utf8').catch(() => undefined)
  const settings = before === undefined ? {} : parse(before, file)
  const servers = settings[client.key] ?? {}
  if (!isPlainObject(servers)) throw new SetupError(`${client.key} in ${file} is not an object.`)
  const kept = keepToken(servers[name], entry)
  const merged = { ...settings, [client.key]: { ...servers, [name]: kept } }
  const after = `${JSON.stringify(merged, null, 2)}\n`
  if (after === before) return kept
  await mkdir(path.dirname(file), { recursive: true })
  if (before !== undefined) await copyFile(file, `${file}.bak`)
  await writeFile(file, after)
  return kept
}

/** A token is shown once: whoever has put theirs here, or anything else, finds it there again. */
function keepToken(former: unknown, entry: Entry): object {
  if (!isPlainObject(former)) return entry
  const kept = (['env', 'headers'] as const).flatMap((key) => {
    const [known, given] = [former[key], entry[key]].map((one) => (isPlainObject(one) ? one : {}))
    const said = Object.entries(given ?? {}).filter(
      ([name, value]) => !(lacksToken({ value }) && known && name in known),
    )
    const all = { ...known, ...Object.fromEntries(said) }
    return Object.keys(all).length > 0 ? [[key, all]] : []
  })
  return { ...entry, ...Object.fromEntries(kept) }
}

function parse(text: string, file: string): Record<string, unknown> {
  let settings: unknown
  try {
    settings = JSON.parse(text)
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    throw new SetupError(`${file} is not JSON, so nothing was written: ${reason}`)
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
