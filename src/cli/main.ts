#!/usr/bin/env node
import { createRequire } from 'node:module'
import { stripVTControlCharacters } from 'node:util'
import { type ArgsDef, defineCommand, renderUsage, runCommand, type SubCommandsDef } from 'citty'
import { SetupError } from '../capability/setup-error.ts'
import { print, say } from './print.ts'
import { UsageError } from './usage-error.ts'

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

/** Loaded when used, so that `--help` and each verb start without the others. */
const verbs = {
  serve: async () => (await import('./serve.ts')).serve,
  check: async () => (await import('./check.ts')).check,
  list: async () => (await import('./list.ts')).list,
  call: async () => (await import('./call.ts')).call,
  connect: async () => (await import('./connect.ts')).connect,
  token: async () => (await import('./token.ts')).token,
} satisfies SubCommandsDef

const loadVerb = async (name: keyof typeof verbs) => {
  const load: SubCommandsDef[string] = verbs[name]
  return typeof load === 'function' ? load() : load
}

const main = defineCommand({
  meta: {
    name: 'drawbridge',
    version,
    description:
      'Puts what a team already has behind one MCP server, and enforces what it declares.',
  },
  subCommands: verbs,
})

/** 0 fine, 1 the answer is no, 2 could not run. */
async function run(words: readonly string[]): Promise<number> {
  const [verb, ...rest] = words
  if (verb === '--version' || verb === '-v') {
    print(version)
    return 0
  }
  const asksForHelp = words.includes('--help') || words.includes('-h')
  if (verb === undefined || verb === '--help' || verb === '-h') {
    printUsage(await renderUsage(main))
    return 0
  }
  if (!isVerb(verb))
    throw new UsageError(`There is no verb "${verb}". "drawbridge --help" lists them.`)
  const command = await loadVerb(verb)
  if (asksForHelp) {
    printUsage(await renderUsage(command, main))
    return 0
  }
  checkFlags(command.args as ArgsDef | undefined, rest)
  const { result } = await runCommand(command, { rawArgs: [...rest] })
  return typeof result === 'number' ? result : 0
}

const printUsage = (usage: string): void =>
  print(process.stdout.isTTY ? usage : stripVTControlCharacters(usage))

const isVerb = (word: string): word is keyof typeof verbs => Object.hasOwn(verbs, word)

/** A flag that means nothing was meant to mean something. */
function checkFlags(args: ArgsDef = {}, words: readonly string[]): void {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const known = new Set(flags.map(([name]) => `--${name}`))
  for (const word of words) {
    if (word === '--') return
    if (!word.startsWith('--')) continue
    const [flag = word] = word.split('=')
    if (!known.has(flag) && !known.has(flag.replace(/^--no-/, '--')))
      throw new UsageError(`There is no flag ${flag}. There is: ${[...known].join(' ')}`)
  }
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  const expected = error instanceof SetupError || error instanceof UsageError
  const cause = error as Error
  say(expected || cause.name === 'CLIError' ? cause.message : (cause.stack ?? String(cause)))
  process.exitCode = 2
}
