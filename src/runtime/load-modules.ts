import path from 'node:path'
import { createJiti } from 'jiti'
import { glob } from 'tinyglobby'
import { byCodePoint } from '../capability/json.ts'
import type { DefinitionModule } from '../sources/definitions/definition-source.ts'

/** What `import … from 'drawbridge-mcp'` gives in a user's module: this very library. */
export type Library = Readonly<Record<string, unknown>>

/**
 * Loads modules, TypeScript or not, without a build step. One loader for every load: it remembers
 * nothing, so that a changed file is read again.
 */
export class ModuleLoader {
  readonly #jiti: ReturnType<typeof createJiti>

  constructor(folder: string, library: Library) {
    this.#jiti = createJiti(path.join(folder, 'drawbridge.yaml'), {
      moduleCache: false,
      virtualModules: { 'drawbridge-mcp': library },
    })
  }

  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    return { ...(await this.#jiti.import<Record<string, unknown>>(file)) }
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
