import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import { glob } from 'tinyglobby'
import { byCodePoint } from '../capability/json.ts'
import type { DefinitionModule } from '../sources/definitions/definition-source.ts'

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
  #jiti: Jiti | undefined

  constructor(options: LoaderOptions) {
    this.#options = options
  }

  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    if (!this.#options.fresh && isPlain(file))
      return { ...(await import(pathToFileURL(file).href)) }
    const jiti = await this.#translator()
    return { ...(await jiti.import<Record<string, unknown>>(file)) }
  }

  async #translator(): Promise<Jiti> {
    if (!this.#jiti) {
      const { createJiti } = await import('jiti')
      this.#jiti = createJiti(path.join(this.#options.folder, 'drawbridge.yaml'), {
        moduleCache: false,
        virtualModules: { 'drawbridge-mcp': this.#options.library },
      })
    }
    return this.#jiti
  }

  async loadAll(patterns: readonly string[], folder: string): Promise<DefinitionModule[]> {
    const files = await glob([...patterns], { cwd: folder, absolute: false, onlyFiles: true })
    if (files.length === 0)
      return [{ file: patterns.join(', '), exports: {}, error: 'no file has this name' }]
    const modules: DefinitionModule[] = []
    // One after the other: what a module prints while it loads must be known to be its own.
    for (const file of files.sort(byCodePoint)) modules.push(await this.#tryLoad(file, folder))
    return modules
  }

  async #tryLoad(file: string, folder: string): Promise<DefinitionModule> {
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
