import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineCommand } from 'citty'
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
  },
  async run({ args }) {
    const client = Object.hasOwn(clients, args.client) ? clients[args.client] : undefined
    if (!client)
      throw new UsageError(
        `There is no client "${args.client}". There is: ${Object.keys(clients).join(', ')}`,
      )
    const { config, file: what } = await findConfig(args.what, process.env)
    const name = args.name ?? config.name ?? 'drawbridge'
    const entry = args.url === undefined ? toCommand(what) : { type: 'http', url: args.url }
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
  if (typeof servers !== 'object')
    throw new SetupError(`${client.key} in ${file} is not an object.`)
  await mkdir(path.dirname(file), { recursive: true })
  if (before !== undefined) await copyFile(file, `${file}.bak`)
  const merged = { ...settings, [client.key]: { ...servers, [name]: entry } }
  await writeFile(file, `${JSON.stringify(merged, null, 2)}\n`)
}

function parse(text: string, file: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SetupError(`${file} is not JSON, so nothing was written: ${(error as Error).message}`)
  }
}

function toAppData(): string {
  if (process.platform === 'darwin')
    return path.join(os.homedir(), 'Library', 'Application Support')
  if (process.platform === 'win32') return process.env.APPDATA ?? os.homedir()
  return process.env.XDG_CONFIG_HOME ?? path.join(os.homedir(), '.config')
}
