#!/usr/bin/env node
import { loadBundle, saveCodeCache, useCacheOf } from '../start/load-bundle.ts'

/** A server that is killed, as some clients do, must have saved its cache before. */
const saveAfterMs = 5000

useCacheOf(process.argv[2])
setTimeout(saveCodeCache, saveAfterMs).unref()
const { main } = loadBundle<typeof import('./program.ts')>('program')
const exitCode = await main()
saveCodeCache()
// Exit explicitly: a handle that a loaded module keeps open must not keep the process alive.
process.exit(exitCode)
