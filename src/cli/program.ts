import { run } from './run.ts'
import { output, reserveStdio, tolerateClosedPipes } from './terminal/print.ts'

/** Runs the command line of this process; resolves when the output is written. */
export async function main(): Promise<number> {
  reserveStdio()
  tolerateClosedPipes()
  const exitCode = await run(process.argv.slice(2))
  await new Promise<void>((resolve) => output.write('', () => resolve()))
  return exitCode
}
