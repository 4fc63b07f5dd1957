import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'

const folder = fileURLToPath(new URL('../bundle/', import.meta.url))
const load = createRequire(path.join(folder, 'index.js'))

/**
 * Beside the bundle, not in a shared temporary folder: the code in a cache is run, so only those who can
 * write the bundle may write its cache.
 */
const cacheFolder = path.join(folder, '.cache')

/** Loads one file of the bundle, and what it imports, once per process. */
export const loadBundle = <Exports extends object>(name: string): Exports =>
  loadFile(`${name}.js`) as Exports

const modules = new Map<string, { exports: object }>()

function loadFile(name: string): object {
  const loaded = modules.get(name)
  if (loaded) return loaded.exports
  const module = { exports: {} }
  modules.set(name, module)
  const file = path.join(folder, name)
  compile(name, file).runInThisContext()(module.exports, loadImport, module, file, folder)
  return module.exports
}

const loadImport = (name: string): unknown =>
  name.startsWith('./') && !name.startsWith(nativeFile) ? loadFile(name.slice(2)) : load(name)

/** Contains `import()`, which does not work in code from a cache. */
const nativeFile = './import-module-'

/** Node's own wrapper of CommonJS modules. On the first line, so that stack traces have the right lines. */
const wrap = (code: string): string =>
  `(function (exports, require, module, __filename, __dirname) { ${code}\n})`

/** Compiling a smaller file takes less time than reading and checking its cache. */
const minCachedLength = 200_000

function compile(name: string, filename: string): Script {
  const code = wrap(readFileSync(filename, 'latin1'))
  if (code.length < minCachedLength) return new Script(code, { filename })
  const cacheFile = toCacheFile(name)
  const cachedData = readCache(cacheFile)
  const script = new Script(code, { filename, ...(cachedData && { cachedData }) })
  if (!cachedData || script.cachedDataRejected) unsaved.set(cacheFile, script)
  return script
}

/** Compiled without a cache, by the file of the cache. */
const unsaved = new Map<string, Script>()

/** Verbs use different functions, and a cache has only those that were used. */
let usage = 'serve'

/** Chooses the cache for this process. */
export function useCacheOf(verb: string | undefined): void {
  if (verb !== undefined && /^[a-z]{1,20}$/.test(verb)) usage = verb
}

/** V8 rejects a cache of another version, of other flags or of another processor. */
function toCacheFile(name: string): string {
  const { cachedDataVersionTag } = load('node:v8') as typeof import('node:v8')
  return path.join(cacheFolder, `${name}.${usage}.${cachedDataVersionTag().toString(16)}`)
}

const digestBytes = 32

/** V8 does not notice damage inside a cache, and would crash. */
const digest = (data: Uint8Array): Buffer => {
  const { createHash } = load('node:crypto') as typeof import('node:crypto')
  return createHash('sha256').update(data).digest()
}

function readCache(file: string): Buffer | undefined {
  try {
    const content = readFileSync(file)
    const data = content.subarray(digestBytes)
    return digest(data).equals(content.subarray(0, digestBytes)) ? data : undefined
  } catch {
    return undefined
  }
}

/** Saves the code that this process compiled, for the next start. */
export function saveCodeCache(): void {
  try {
    for (const [file, script] of unsaved) {
      const data = script.createCachedData()
      // Whatever the umask: nobody else may write what the next start executes.
      mkdirSync(cacheFolder, { recursive: true, mode: 0o755 })
      writeFileSync(`${file}.${process.pid}`, Buffer.concat([digest(data), data]), { mode: 0o644 })
      renameSync(`${file}.${process.pid}`, file)
    }
  } catch {
    // An installation that cannot be written to starts without the cache.
  }
  unsaved.clear()
}
