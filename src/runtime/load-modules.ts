import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import { glob } from 'tinyglobby'
import { byCodePoint } from '../capability/json.ts'
import type { LoadedModule } from '../sources/loaded-module.ts'

/** What `import … from 'drawbridge-mcp'` gives in a user's module: this very library. */
export type Library = Readonly<Record<string, unknown>>

export interface LoaderOptions {
  readonly folder: string
  readonly library: Library
  /** Whether a file that has changed must be read again: Node itself never does. */
  readonly fresh: boolean
}

/**
 * Loads modules, TypeScript or not, without a build step. What Node can load as it is, it loads:
 * the translator takes as long to start as everything else together.
 */
export class ModuleLoader {
  readonly #options: LoaderOptions
  readonly #loaded = new Set<string>()
  readonly #patterns = new Set<string>()
  #jiti: Jiti | undefined

  constructor(options: LoaderOptions) {
    this.#options = options
  }

  /** Every file that was read, and those that would be read now, for those who watch them. */
  async files(): Promise<readonly string[]> {
    const translated = Object.keys(this.#jiti?.cache ?? {}).filter(isOwn)
    const present = await glob([...this.#patterns], { cwd: this.#options.folder, absolute: true })
    return [...new Set([...this.#loaded, ...translated, ...present])]
  }

  /** A file that is no module, and that is watched like one. */
  note(file: string): void {
    this.#loaded.add(file)
  }

  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    this.#loaded.add(file)
    if (!this.#options.fresh && isPlain(file))
      return { ...(await import(pathToFileURL(file).href)) }
    const jiti = await this.#translator()
    return { ...(await jiti.import<Record<string, unknown>>(file)) }
  }

  async #translator(): Promise<Jiti> {
    if (!this.#jiti) {
      const { createJiti } = await import('jiti')
      this.#jiti = createJiti(path.join(this.#options.folder, 'drawbridge.yaml'), {
        virtualModules: { 'drawbridge-mcp': this.#options.library },
      })
      // Modules share what they import, but not with those of an earlier load.
      for (const file of Object.keys(this.#jiti.cache))
        if (isOwn(file)) delete this.#jiti.cache[file]
    }
    return this.#jiti
  }

  loadAll(patterns: readonly string[], folder: string): Promise<LoadedModule[]> {
    for (const pattern of patterns) this.#patterns.add(pattern)
    // One source after the other: what a module prints while it loads must be known to be its own.
    turn = turn.then(
      () => this.#loadAll(patterns, folder),
      () => this.#loadAll(patterns, folder),
    )
    return turn as Promise<LoadedModule[]>
  }

  async #loadAll(patterns: readonly string[], folder: string): Promise<LoadedModule[]> {
    const files = await glob([...patterns], { cwd: folder, absolute: false, onlyFiles: true })
    if (files.length === 0)
      return [{ file: patterns.join(', '), exports: {}, error: 'no file has this name' }]
    const modules: LoadedModule[] = []
    for (const file of files.sort(byCodePoint)) modules.push(await this.#tryLoad(file, folder))
    return modules
  }

  async #tryLoad(file: string, folder: string): Promise<LoadedModule> {
    const capture = captureOutput()
    try {
      const exports = await this.load(path.resolve(folder, file))
      const printed = capture.end()
      return { file, exports, ...(printed !== '' && { printed }) }
    } catch (error) {
      capture.end()
      const at = findPlace(error, path.resolve(folder, file))
      return { file, exports: {}, error: toLine(error), ...(at !== undefined && { at }) }
    }
  }
}

let turn: Promise<unknown> = Promise.resolve()

const isOwn = (file: string): boolean => !/[\\/]node_modules[\\/]/.test(file)

/** JavaScript that finds this package by itself. */
function isPlain(file: string): boolean {
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

/** Where in the file it went wrong: a syntax error says so in its message, others in their stack. */
function findPlace(error: unknown, file: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  for (const text of [error.message, error.stack ?? '']) {
    const found = text.split(file)[1]?.match(/^:\d+:\d+/)
    if (found) return `${file}${found[0]}`
  }
  return undefined
}

/** Standard output belongs to results and the protocol; what a module writes goes to the side. */
function captureOutput(): { end(): string } {
  const { write } = process.stdout
  // Taken now: over stdio both names mean the same stream.
  const aside = process.stderr.write.bind(process.stderr)
  let printed = ''
  process.stdout.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    printed += String(chunk)
    return aside(chunk, ...(rest as []))
  }
  return {
    end: () => {
      process.stdout.write = write
      return printed
    },
  }
}
