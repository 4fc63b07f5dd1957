#!/usr/bin/env node
import { run } from './run.ts'
import { output, reserveStdout, tolerateClosedPipes } from './terminal/print.ts'

reserveStdout()
tolerateClosedPipes()
const exitCode = await run(process.argv.slice(2))
// Exit explicitly, after stdout is flushed: a handle that a loaded module keeps open must not keep the process alive.
output.write('', () => process.exit(exitCode))
