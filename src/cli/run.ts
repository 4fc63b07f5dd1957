import { stripVTControlCharacters } from 'node:util'
import { type ArgsDef, defineCommand, renderUsage, runCommand, type SubCommandsDef } from 'citty'
import { SetupError } from '../capability/setup-error.ts'
import { CredentialError } from '../runtime/records/credential-error.ts'
import { descriptions } from './descriptions.ts'
import { exitCodes } from './exit-codes.ts'
import { output, print, printExactly, printMessage } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'
import { version } from './version.ts'

/** Loaded lazily, so that each verb starts without loading the others. */
const verbs = {
  serve: async () => (await import('./serve.ts')).serve,
  check: async () => (await import('./check.ts')).check,
  list: async () => (await import('./list.ts')).list,
  call: async () => (await import('./call.ts')).call,
  project: async () => (await import('./project.ts')).project,
  connect: async () => (await import('./connect.ts')).connect,
  explain: async () => (await import('./explain.ts')).explain,
  diff: async () => (await import('./diff.ts')).diff,
  import: async () => (await import('./import.ts')).importDraft,
  approvals: async () => (await import('./ledger/approvals.ts')).approvals,
  runs: async () => (await import('./ledger/runs.ts')).runs,
  executions: async () => (await import('./ledger/executions.ts')).executions,
  clock: async () => (await import('./ledger/clock.ts')).clock,
  audit: async () => (await import('./ledger/audit.ts')).audit,
  store: async () => (await import('./store/store.ts')).store,
  records: async () => (await import('./records/records.ts')).records,
  grants: async () => (await import('./records/grants.ts')).grants,
  token: async () => (await import('./token.ts')).token,
} satisfies Record<keyof typeof descriptions, SubCommandsDef[string]>

const loadVerb = async (name: keyof typeof verbs) => {
  const load: SubCommandsDef[string] = verbs[name]
  return typeof load === 'function' ? load() : load
}

const main = defineCommand({
  meta: {
    name: 'drawbridge',
    version,
    description: 'Put the tools a team already has behind one governed MCP server.',
  },
  subCommands: Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      { meta: { name, description } },
    ]),
  ),
})

/** Runs one command line and returns its exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    return await dispatch(argv)
  } catch (error) {
    const isExpected = error instanceof SetupError || error instanceof UsageError
    const { name, message, stack } = error as Error
    printMessage(isExpected || name === 'CLIError' ? message : (stack ?? String(error)))
    if (!(error instanceof CredentialError)) return exitCodes.setupError
    return error.reason === 'owner' ? exitCodes.ownerCredential : exitCodes.invalidCredential
  }
}

async function dispatch(words: readonly string[]): Promise<number> {
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
    throw new UsageError(`Unknown verb "${verb}". "drawbridge --help" lists all verbs.`)
  const command = await loadVerb(verb)
  if (asksForHelp) {
    printUsage(await renderUsage(command, main))
    return 0
  }
  checkArguments(command.args as ArgsDef | undefined, rest)
  const { result } = await runCommand(command, { rawArgs: [...rest] })
  return typeof result === 'number' ? result : exitCodes.success
}

function printUsage(usage: string): void {
  const text = usage
    // citty marks NAME as optional, because it cannot parse an optional argument before a required one.
    .replace('[WHAT] [NAME]', '[WHAT] NAME')
    .replaceAll('(Default: ', '(default: ')
    .replaceAll('(Required)', '(required)')
  printExactly(output.isTTY ? text : stripVTControlCharacters(text))
}

const isVerb = (word: string): word is keyof typeof verbs => Object.hasOwn(verbs, word)

/** Rejects unknown flags and extra arguments, which citty ignores. */
function checkArguments(args: ArgsDef = {}, words: readonly string[]): void {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const types = new Map(flags.map(([name, { type }]) => [`--${name}`, type]))
  const maxPositionals = Object.keys(args).length - flags.length
  let positionalCount = 0
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    if (word === '-' || !word.startsWith('-')) {
      if (++positionalCount > maxPositionals)
        throw new UsageError(`Unexpected argument ${JSON.stringify(word)}.`)
      continue
    }
    const [flag = word, inlineValue] = word.split(/=(.*)/s)
    const type = types.get(flag) ?? types.get(flag.replace(/^--no-/, '--'))
    if (type === undefined)
      throw new UsageError(`Unknown flag ${flag}. Available: ${[...types.keys()].join(' ')}`)
    if (type === 'boolean') continue
    const value = inlineValue ?? words[++index]
    if (value === undefined || value === '') throw new UsageError(`${flag} needs a value.`)
  }
}
