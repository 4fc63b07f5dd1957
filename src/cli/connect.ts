import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineCommand } from 'citty'
import { isPlainObject } from '../capability/json.ts'
import { SetupError } from '../capability/setup-error.ts'
import { findConfig } from '../runtime/find-config.ts'
import { printJson, say } from './print.ts'
import { UsageError } from './usage-error.ts'

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
    const { name, entry, isReader } = await toEntry(args as Where)
    if (isReader && process.env.DRAWBRIDGE_TOKEN === undefined)
      say('DRAWBRIDGE_TOKEN is the token that "drawbridge grants create" printed.')
    const addition = { [client.key]: { [name]: entry } }
    if (!args.write) {
      printJson(addition)
      say(`This belongs into ${client.file()}; --write merges it there.`)
      return 0
    }
    await merge(client, name, entry)
    say(`${name} is in ${client.file()}. ${client.restart}`)
    return 0
  },
})

interface Where {
  readonly url: string | undefined
  readonly name: string | undefined
  readonly what: string
}

/** A server that runs already is known by its address; one to be started, by its configuration. */
async function toEntry({ url, name, what }: Where) {
  if (url !== undefined) {
    if (!URL.canParse(url))
      throw new UsageError(`--url must be an address, not ${JSON.stringify(url)}.`)
    const given = name ?? (await findConfig(what, process.env).catch(() => undefined))?.config.name
    return { name: given ?? 'drawbridge', entry: { type: 'http', url }, isReader: false }
  }
  const { config, file } = await findConfig(what, process.env)
  const isReader = config.sources.some((source) => 'records' in source)
  const env = { DRAWBRIDGE_TOKEN: process.env.DRAWBRIDGE_TOKEN ?? 'the token of a grant' }
  return {
    name: name ?? config.name ?? 'drawbridge',
    entry: { ...toCommand(file), ...(isReader && { env }) },
    isReader,
  }
}

/** How to start this very installation; through npx where it is only a cache of npx. */
function toCommand(what: string): { type: string; command: string; args: string[] } {
  const main = fileURLToPath(new URL('./main.js', import.meta.url))
  const words = ['serve', what, '--stdio']
  return main.includes(`${path.sep}_npx${path.sep}`)
    ? { type: 'stdio', command: 'npx', args: ['-y', 'drawbridge-mcp', ...words] }
    : { type: 'stdio', command: process.execPath, args: [main, ...words] }
}

/** Nothing else in the file is touched, and what it was before stays beside it. */
async function merge(client: Client, name: string, entry: object): Promise<void> {
  const file = client.file()
  const before = await readFile(file, 'utf8').catch(() => undefined)
  const settings = before === undefined ? {} : parse(before, file)
  const servers = settings[client.key] ?? {}
  if (!isPlainObject(servers)) throw new SetupError(`${client.key} in ${file} is not an object.`)
  const merged = { ...settings, [client.key]: { ...servers, [name]: entry } }
  const after = `${JSON.stringify(merged, null, 2)}\n`
  if (after === before) return
  await mkdir(path.dirname(file), { recursive: true })
  if (before !== undefined) await copyFile(file, `${file}.bak`)
  await writeFile(file, after)
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
