import type { Diagnostic } from '../capability/diagnostic.ts'

/** Results go to standard output, and nothing else does. */
export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2))

/** Everything else goes to standard error. */
export const say = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

export const toLine = ({ severity, code, source, pointer, at, message }: Diagnostic): string =>
  `${severity.padEnd(7)} ${at ?? `${source}${pointer === '' ? '' : `#${pointer}`}`} ${code}: ${message}`

export const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`
