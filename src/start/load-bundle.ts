import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'

const folder = fileURLToPath(new URL('../bundle/', import.meta.url))
const load = createRequire(path.join(folder, 'index.js'))

/** Beside the bundle, not in a shared temporary folder: code in a cache is run, and only who can change the bundle may write it. */
const cacheFolder = path.join(folder, '.cache')

const modules = new Map<string, { exports: object }>()
const uncached = new Map<string, Script>()

/** Loads one file of the bundle, once per process. */
export function loadBundle<Exports extends object>(name: string): Exports {
  return loadChunk(`${name}.js`) as Exports
}

function loadChunk(name: string): object {
  const loaded = modules.get(name)
  if (loaded) return loaded.exports
  const module = { exports: {} }
  modules.set(name, module)
  const file = path.join(folder, name)
  const run = compile(file, name).runInThisContext()
  run(module.exports, requireFromBundle, module, file, folder)
  return module.exports
}

const requireFromBundle = (name: string): unknown =>
  name.startsWith('./') && !name.startsWith(nativeChunk) ? loadChunk(name.slice(2)) : load(name)

/** Contains `import()`, which does not work in code from a cache. */
const nativeChunk = './import-module-'

function compile(filename: string, name: string): Script {
  const cachedData = readCache(name)
  const script = new Script(`${opening}${readFileSync(filename, 'latin1')}\n})`, {
    filename,
    ...(cachedData && { cachedData }),
  })
  if (!cachedData || script.cachedDataRejected) uncached.set(name, script)
  return script
}

/** Node's own wrapper of CommonJS modules. On the first line, so that positions in stack traces are right. */
const opening = '(function (exports, require, module, __filename, __dirname) { '

function readCache(name: string): Buffer | undefined {
  try {
    return readFileSync(toCacheFile(name))
  } catch {
    return undefined
  }
}

/** V8 rejects a cache of another version, or made with other flags. */
const toCacheFile = (name: string): string =>
  path.join(cacheFolder, `${name}.${cachedDataVersionTag().toString(16)}`)

/** Saves the compiled code for the next start. */
export function saveCodeCache(): void {
  try {
    if (uncached.size > 0) mkdirSync(cacheFolder, { recursive: true })
    for (const [name, script] of uncached) {
      const temporary = `${toCacheFile(name)}.${process.pid}`
      writeFileSync(temporary, script.createCachedData())
      renameSync(temporary, toCacheFile(name))
    }
  } catch {
    // A package that cannot be written to starts without the cache.
  }
  uncached.clear()
}
