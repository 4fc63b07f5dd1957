#!/usr/bin/env node
import { loadBundle, saveCodeCache, useCacheOf } from '../start/load-bundle.ts'

useCacheOf(process.argv[2])
const { main } = loadBundle<typeof import('./program.ts')>('program')
const exitCode = await main()
saveCodeCache()
// Exit explicitly: a handle that a loaded module keeps open must not keep the process alive.
process.exit(exitCode)
