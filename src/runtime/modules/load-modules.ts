import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { digestJson } from '../../json/digest-json.ts'
import type { LoadedModule, ModuleText } from '../../sources/loaded-module.ts'
import { findFiles } from './find-files.ts'
import { importModule } from './import-module.ts'
import { isPackageFile, isUnchanged, type ModuleGraph, readModuleGraph } from './module-graph.ts'
import type { StrayErrors } from './stray-errors.ts'

/** The exports that `import … from 'drawbridge-mcp'` resolves to in a user's module: this installation. */
export type Library = Readonly<Record<string, unknown>>

export interface LoaderOptions {
  readonly folder: string
  readonly library: () => Promise<Library>
  /** Reloads changed files. Node's own module cache never does. */
  readonly fresh: boolean
  /** Catches errors that a module leaves behind. */
  readonly strayErrors?: StrayErrors | undefined
}

/**
 * Loads JavaScript and TypeScript modules without a build step. Plain JavaScript goes to Node directly,
 * because starting jiti takes as long as everything else together.
 */
export class ModuleLoader {
  readonly #options: LoaderOptions
  readonly #loaded = new Set<string>()
  readonly #patterns = new Set<string>()
  #jiti: Jiti | undefined

  constructor(options: LoaderOptions) {
    this.#options = options
  }

  /** All files to watch: those that were loaded, and those that match the patterns now. */
  async files(): Promise<readonly string[]> {
    const transpiled = Object.keys(this.#jiti?.cache ?? {}).filter(isUserFile)
    const { folder } = this.#options
    const matching = await findFiles([...this.#patterns], folder)
    const files = matching.map((file) => path.resolve(folder, file))
    return [...new Set([...this.#loaded, ...transpiled, ...files])]
  }

  /** Adds a file that is not a module, such as a manifest, to the watched files. */
  watchFile(file: string): void {
    this.#loaded.add(file)
  }

  /** Sequential, so that output and errors during a load belong to that module. */
  load(file: string): Promise<LoadedCode> {
    return enqueue(() => this.#load(file))
  }

  /** The same, with the error as a value that has a position. */
  tryLoad(file: string, folder: string): Promise<LoadedModule> {
    return enqueue(() => this.#tryLoad(file, folder))
  }

  #load(file: string): Promise<LoadedCode> {
    const { strayErrors, folder } = this.#options
    const load = () => this.#import(file)
    return strayErrors ? strayErrors.load(file, path.relative(folder, file), load) : load()
  }

  async #import(file: string): Promise<LoadedCode> {
    this.#loaded.add(file)
    const before = await readModuleGraph([file], this.#options.folder)
    const { exports, loadedFiles } = await this.#evaluate(file)
    const after = await readModuleGraph([file, ...loadedFiles], this.#options.folder)
    for (const name of after.files.keys()) this.#loaded.add(name)
    const texts = [file, ...after.files.keys()]
    return { exports, code: remember(before, after), readTexts: createTextReader(texts) }
  }

  async #evaluate(file: string) {
    if (!this.#options.fresh && isPlainJavaScript(file)) {
      const exports = toExports(await importModule(pathToFileURL(file).href))
      return { exports, loadedFiles: [] }
    }
    const jiti = await this.#openJiti()
    const cached = new Set(Object.keys(jiti.cache))
    const load = this.#options.fresh ? importFresh : importOnce
    const exports = toExports(await load(jiti, file))
    return { exports, loadedFiles: Object.keys(jiti.cache).filter((name) => !cached.has(name)) }
  }

  async #openJiti(): Promise<Jiti> {
    if (!this.#jiti) {
      const { createJiti } = createRequire(import.meta.url)('jiti') as typeof import('jiti')
      const library = await this.#options.library()
      this.#jiti = createJiti(path.join(this.#options.folder, 'drawbridge.yaml'), {
        virtualModules: { 'drawbridge-mcp': library },
      })
      // jiti's cache is global: drop the modules of an earlier load, so that they are read again.
      for (const file of Object.keys(this.#jiti.cache))
        if (isUserFile(file)) delete this.#jiti.cache[file]
    }
    return this.#jiti
  }

  loadAll(patterns: readonly string[], folder: string): Promise<LoadedModule[]> {
    for (const pattern of patterns) this.#patterns.add(pattern)
    return enqueue(() => this.#loadAll(patterns, folder))
  }

  async #loadAll(patterns: readonly string[], folder: string): Promise<LoadedModule[]> {
    const files = await findFiles(patterns, folder)
    if (files.length === 0)
      return [{ file: patterns.join(', '), exports: {}, error: 'no file matches' }]
    const modules: LoadedModule[] = []
    for (const file of files.sort(byCodeUnit)) modules.push(await this.#tryLoad(file, folder))
    return modules
  }

  async #tryLoad(file: string, folder: string): Promise<LoadedModule> {
    const capture = captureOutput()
    try {
      const loaded = await this.#load(path.resolve(folder, file))
      const printed = capture.end()
      return { file, ...loaded, ...(printed !== '' && { printed }) }
    } catch (error) {
      capture.end()
      const at = findPosition(error, path.resolve(folder, file))
      return { file, exports: {}, error: toLine(error), ...(at !== undefined && { at }) }
    }
  }
}

type LoadedCode = Required<Pick<LoadedModule, 'exports' | 'code' | 'readTexts'>>

let queue: Promise<unknown> = Promise.resolve()

function enqueue<T>(work: () => Promise<T>): Promise<T> {
  const result = queue.then(work, work)
  queue = result
  return result
}

const importOnce = (jiti: Jiti, file: string): Promise<unknown> => jiti.import(file)

/**
 * jiti leaves plain JavaScript to Node's `import()`, whose cache keeps the former version: CommonJS is
 * required instead, and ES modules are transpiled. Not the .mjs files that those import.
 */
async function importFresh(jiti: Jiti, file: string): Promise<unknown> {
  const ext = path.extname(file)
  if (!/^\.[cm]?js$/.test(ext)) return jiti.import(file)
  const source = await readFile(file, 'utf8')
  const isCommonJs = ext === '.cjs' || (ext === '.js' && !/^\s*(import|export)\b/m.test(source))
  if (isCommonJs) return jiti(file)
  return jiti.evalModule(source, { filename: file, ext, async: true, forceTranspile: true })
}

/**
 * The exports by name. CommonJS may export an array or a function, which is the default then; Node
 * lists `module.exports` a second time under that name.
 */
function toExports(module: unknown): LoadedModule['exports'] {
  if (typeof module !== 'object' || module === null || Array.isArray(module))
    return { default: module }
  const { 'module.exports': _, ...exports } = module as Record<string, unknown>
  return exports
}

const maxTextFiles = 100
const maxTextLength = 1024 * 1024

/** Reads the files when something is to be reported about them; those that are too large or gone by now are left out. */
function createTextReader(files: readonly string[]): () => readonly ModuleText[] {
  let texts: readonly ModuleText[] | undefined
  return () => {
    texts ??= [...new Set(files)].slice(0, maxTextFiles).flatMap(readText)
    return texts
  }
}

function readText(file: string): ModuleText[] {
  try {
    const text = readFileSync(file, 'utf8')
    return text.length <= maxTextLength ? [{ file, text }] : []
  } catch {
    return []
  }
}

const isUserFile = (file: string): boolean => !isPackageFile(file)

/** The graphs of the loaded modules by their digest, for `isCodeCurrent`. */
const graphs = new Map<string, ModuleGraph>()
const maxGraphs = 10_000

/** A file that is written during the load gives a digest that no later load has: approvals become void. */
function remember(before: ModuleGraph, after: ModuleGraph): string {
  const isStable = [...before.files].every(
    ([file, { digest }]) => after.files.get(file)?.digest === digest,
  )
  const code = isStable ? after.digest : digestJson([before.digest, after.digest])
  graphs.delete(code)
  graphs.set(code, after)
  if (graphs.size > maxGraphs) graphs.delete(graphs.keys().next().value ?? '')
  return code
}

/** The code of several modules is joined by `+`. Whether the files of loaded code are still the ones that were loaded: an `import()` may load them again. */
export async function isCodeCurrent(code: string): Promise<boolean> {
  const checks = code.split('+').map((part) => {
    const graph = graphs.get(part)
    return graph === undefined || isUnchanged(graph)
  })
  return (await Promise.all(checks)).every(Boolean)
}

/** JavaScript that Node can load by itself: it resolves this package without an alias. */
function isPlainJavaScript(file: string): boolean {
  if (!/\.[cm]?js$/.test(file)) return false
  try {
    createRequire(file).resolve('drawbridge-mcp')
    return true
  } catch {
    return false
  }
}

const toLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]?.trim() ?? ''

/** File, line and column of an error: syntax errors have it in their message, others in their stack. */
function findPosition(error: unknown, file: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  for (const text of [error.message, error.stack ?? '']) {
    const position = text.split(file)[1]?.match(/^:\d+:\d+/)
    if (position) return `${file}${position[0]}`
  }
  return undefined
}

/** Sends what a module prints to standard error: standard output is for results and the protocol. */
function captureOutput(): { end(): string } {
  const { write } = process.stdout
  // Bound before stdout is replaced: in the CLI, stdout and stderr are the same object.
  const writeToStderr = process.stderr.write.bind(process.stderr)
  let printed = ''
  process.stdout.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    printed += String(chunk)
    return writeToStderr(chunk, ...(rest as []))
  }
  return {
    end: () => {
      process.stdout.write = write
      return printed
    },
  }
}
