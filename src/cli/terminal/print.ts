import { Readable } from 'node:stream'
import { type Diagnostic, groupAlike } from '../../capability/diagnostic.ts'
import { escapeHidden, escapeHiddenAsJson } from '../../json/hidden-characters.ts'
import { exitCodes } from '../exit-codes.ts'

/** The real standard output: for results, or for the protocol. */
export const output = process.stdout

const emptyInput = Readable.from([])
let openReserved: (() => NodeJS.ReadStream) | undefined

/** The real standard input. Opened when it is needed: most verbs read nothing. */
export const openInput = (): Readable =>
  (process.stdin as Readable) === emptyInput && openReserved ? openReserved() : process.stdin

/**
 * Sends everything else that writes to standard output to standard error: a stray `console.log` in a tool
 * would corrupt results and protocol messages. Modules get an empty standard input: an MCP server that
 * connects itself while it is loaded would take the calls of the client, past all rules.
 */
export function reserveStdio(): void {
  Object.defineProperty(process, 'stdout', { value: process.stderr })
  const real = Object.getOwnPropertyDescriptor(process, 'stdin')
  openReserved = () => real?.get?.call(process) ?? real?.value
  Object.defineProperty(process, 'stdin', { value: emptyInput, configurable: true })
  for (const method of ['log', 'info', 'debug', 'dir', 'table'] as const)
    console[method] = console.error
}

let readerIsGone = false

/** Whether the reader of the output, such as `head`, has closed the pipe. */
export const isOutputClosed = (): boolean => readerIsGone

/** A reader that closes the pipe is no error: the rest of the output is lost, and the verb ends as usual. */
export function tolerateClosedPipes(): void {
  for (const stream of [output, process.stderr])
    if (!stream.listeners('error').includes(onStreamError)) stream.on('error', onStreamError)
}

function onStreamError(this: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') readerIsGone ||= this === output
  // Other errors belong to `export` or the stdio transport while these listen; else they are fatal.
  else if (this.listenerCount('error') === 1) throw error
}

/** Prints a result for people. Text of sources must not control the terminal, so hidden characters are escaped. */
export const print = (text: string): void => printExactly(escapeHidden(text))

/** Prints a result for programs, as it is. */
export const printExactly = (text: string): void => {
  output.write(`${text}\n`)
}

export const printJson = (value: unknown): void => printAsJson(value, 2)

export const printJsonLine = (value: unknown): void => printAsJson(value, 0)

/** Escapes within JSON do not change the value. */
const printAsJson = (value: unknown, indent: number): void =>
  printExactly(escapeHiddenAsJson(JSON.stringify(value, null, indent)))

/** Prints everything that is not a result, to standard error. */
export const printMessage = (text: string): void => {
  process.stderr.write(`${escapeHidden(text)}\n`)
}

/** Prints a message and returns the exit code for a negative result. */
export function fail(message: string): number {
  printMessage(message)
  return exitCodes.negativeResult
}

/** The lines of many diagnostics: those that say the same about one file are one line with a count. */
export const toLines = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  groupAlike(diagnostics).map(({ first, count }) =>
    count === 1
      ? toLine(first)
      : `${toLine(first)} (and ${count - 1} more like it: "drawbridge check --json" lists all)`,
  )

export const toLine = ({ severity, code, source, pointer, at, message }: Diagnostic): string =>
  `${severity.padEnd(7)} ${at ?? `${source}${pointer === '' ? '' : `#${pointer}`}`} ${code}: ${message}`

export const count = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`
