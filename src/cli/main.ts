#!/usr/bin/env node
import { loadBundle, saveCodeCache } from '../start/load-bundle.ts'

const { main } = loadBundle<typeof import('./program.ts')>('program')
const exitCode = await main()
saveCodeCache()
// Exit explicitly: a handle that a loaded module keeps open must not keep the process alive.
process.exit(exitCode)
