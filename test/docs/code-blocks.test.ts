import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { globSync } from 'tinyglobby'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HostRun } from '../support/cli-host.ts'
import { drawbridge } from '../support/run-cli.ts'
import { repository } from '../support/spawn-server.ts'

/**
 * Runs every code block of the README and the docs the way a reader would paste it.
 *
 * Each page gets a folder that looks like a clone after `npm ci`. Its blocks run in order:
 * `ts`, `js` and `yaml` blocks name their file in the first line and are saved there; configurations
 * must pass `drawbridge check`, and load the modules; `js` blocks are programs and must run; `sh`
 * blocks must succeed, or exit with the code that their comment names. Ports are replaced by free
 * ones, and servers are stopped as soon as they listen. Other commands run in the process that the
 * tests share.
 */
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: repository })]

interface Block {
  readonly line: number
  readonly language: string
  readonly text: string
}

const notRunnable = new Set(['mermaid', 'text'])

const commandServer = createServer((socket) =>
  createInterface({ input: socket }).once('line', async (line) => {
    const { args, ...options }: HostRun = JSON.parse(line)
    socket.end(JSON.stringify(await drawbridge(args, options)))
  }),
)
const commandSocket = path.join(os.tmpdir(), `drawbridge-${randomUUID().slice(0, 8)}.sock`)

beforeAll(() => new Promise<void>((resolve) => commandServer.listen(commandSocket, resolve)))
afterAll(() => void commandServer.close())

for (const page of pages.sort()) {
  const markdown = await readFile(path.join(repository, page), 'utf8')
  const blocks = readBlocks(markdown)

  test(`${page}: every code block has a language, and every link resolves`, async () => {
    expect(blocks.filter(({ language }) => language === '')).toEqual([])
    const modules = blocks
      .filter(({ language }) => language === 'ts')
      .map(({ text }) => toFile(text))
    const others = blocks.filter(({ language }) => language !== 'ts').map(({ text }) => text)
    const unusedModules = modules.filter((file) => !others.some((text) => isUsed(file, text)))
    expect(unusedModules).toEqual([])
    const deadLinks = []
    for (const [, target = ''] of markdown.matchAll(
      /\]\((?!https?:)([^)\s]+)\)|srcset="([^"]+)"/g,
    )) {
      const [file, anchor] = target.split('#')
      const linkedFile = file === '' ? page : path.join(path.dirname(page), file ?? '')
      const text = await readFile(path.join(repository, linkedFile), 'utf8').catch(() => undefined)
      if (text === undefined || (anchor !== undefined && !listAnchors(text).includes(anchor)))
        deadLinks.push(target)
    }
    expect(deadLinks).toEqual([])
  })

  const runnableBlocks = blocks.filter(({ language }) => !notRunnable.has(language))
  // CONTRIBUTING.md runs the test suite, which would run itself recursively.
  if (runnableBlocks.length === 0 || page === 'CONTRIBUTING.md') continue
  describe(page, () => {
    let folder: string
    beforeAll(async () => {
      folder = await aClone()
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    test.each(runnableBlocks)('line $line, $language', async (block) => {
      await paste(block, folder)
    })
  })
}

function readBlocks(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms)].map((match) => ({
    line: markdown.slice(0, match.index).split('\n').length,
    language: match[1] ?? '',
    text: match[2] ?? '',
  }))
}

/** Anchors as GitHub makes them from headings. */
const listAnchors = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Looks like a clone after `npm ci`; the examples are copied, because their stores are written. */
async function aClone(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-docs-'))
  await cp(path.join(repository, 'examples'), path.join(folder, 'examples'), {
    recursive: true,
    filter: (file) => !file.includes('.db'),
  })
  for (const name of ['dist', 'package.json'])
    await symlink(path.join(repository, name), path.join(folder, name))
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(repository, path.join(folder, 'node_modules/drawbridge-mcp'))
  const bin = path.join(folder, '.bin')
  await mkdir(bin)
  for (const [name, script] of Object.entries(commands)) {
    await writeFile(path.join(bin, name), `#!/usr/bin/env bash\n${script}`)
    await chmod(path.join(bin, name), 0o755)
  }
  return folder
}

const cli = JSON.stringify(path.join(repository, 'dist/cli/main.js'))

const forwardCommand = JSON.stringify(path.join(repository, 'test/docs/forward-command.mjs'))

/** Replacements of the commands in the docs. A server is stopped once it prints its address. */
const commands = {
  drawbridge: `
    [ "$1" = serve ] || exec node ${forwardCommand} ${commandSocket} "$@"
    log=$PWD/.serve.log
    node ${cli} "$@" --port 0 >"$log" 2>&1 &
    for _ in $(seq 600); do
      grep -q 'http://127.0.0.1:' "$log" && { kill $!; wait $!; exit 0; }
      kill -0 $! 2>/dev/null || break
      sleep 0.1
    done
    cat "$log" >&2
    exit 1`,
  npx: `[ "$1" = drawbridge-mcp ] || [ "$1" = drawbridge ] || exit 127; shift; exec drawbridge "$@"`,
  npm: `
    case "$1" in
      ci) exit 0 ;;
      start) exec drawbridge serve examples/all-five ;;
      *) exit 127 ;;
    esac`,
  // Stub for the client, which is not installed: accepts exactly the documented arguments.
  claude: `[ "$*" = "mcp add --transport http all-five http://127.0.0.1:4747/mcp" ]`,
}

async function paste({ language, text }: Block, folder: string): Promise<void> {
  if (language === 'sh') return expectExit(['bash', '-euc', text], folder, readExitCode(text))
  const file = toFile(text)
  await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
  await writeFile(path.join(folder, file), text.replaceAll('4747', '0'))
  if (language === 'js')
    return expectExit([process.execPath, '--import', exitWhenListening, file], folder, 0)
  if (language === 'yaml' && /^sources:/m.test(text)) {
    const { code, stdout, stderr } = await drawbridge(['check', file], { cwd: folder, env })
    expect(code, `${stdout}${stderr}`).toBe(0)
  }
}

/** Variables that the docs ask the reader to set. */
const env = { PDPP_TOKEN: 'the token of a grant' }

function toFile(text: string): string {
  const file = /^(?:\/\/|#) (\S+\.\w+)\n/.exec(text)?.[1]
  if (file === undefined) throw new Error(`The first line has to name the file:\n${text}`)
  return file
}

/** Whether a configuration or a command loads a module, by its path or by a glob over its folder. */
const isUsed = (file: string, text: string): boolean =>
  text.includes(file) || text.includes(`${path.dirname(file)}/*.ts`)

/** Preloaded into programs: the process ends once its server listens. */
const exitWhenListening = `data:text/javascript,${encodeURIComponent(`
  import net from 'node:net'
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (...args) {
    this.once('listening', () => setImmediate(() => process.exit(0)))
    return listen.apply(this, args)
  }`)}`

const readExitCode = (text: string): number => Number(/# exit code (\d)/.exec(text)?.[1] ?? 0)

function expectExit(
  [command = '', ...args]: readonly string[],
  cwd: string,
  code: number,
): Promise<void> {
  const PATH = `${path.join(cwd, '.bin')}:${process.env.PATH}`
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      args,
      { cwd, env: { ...process.env, ...env, PATH } },
      (error, stdout, stderr) => {
        try {
          expect(error === null ? 0 : error.code, `${stdout}${stderr}`).toBe(code)
          resolve()
        } catch (failure) {
          reject(failure as Error)
        }
      },
    )
    child.stdin?.end()
  })
}
