import { hash } from 'node:crypto'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { digestJson } from '../../json/digest-json.ts'

/** A module and the code that it names, directly and indirectly, without packages in `node_modules`. */
export interface ModuleGraph {
  /** Digest of the names and the content of all files. */
  readonly digest: string
  readonly files: ReadonlyMap<string, FileState>
}

interface FileState {
  readonly digest: string
  /** Modification time, size and inode: equal as long as the file was not written. */
  readonly version: string
}

/** Bounds the work for a module that names a huge tree; files beyond it are not covered. */
const maxFiles = 10_000

/**
 * Reads the graph from the text of the files. It errs on the side of too many files: every relative
 * path of a module in a string literal counts, so that `import()`, `require`, `new URL` and workers
 * are covered. A path that is computed at run time is not, and neither is data, which tools may write.
 */
export async function readModuleGraph(
  roots: readonly string[],
  folder: string,
): Promise<ModuleGraph> {
  const files = new Map<string, FileState>()
  const folders = new Folders()
  const pending = [...roots]
  const seen = new Set<string>()
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (seen.has(file) || files.size >= maxFiles || !(await folders.contain(file))) continue
    seen.add(file)
    const target = await realpath(file).catch(() => undefined)
    if (target === undefined || files.has(target)) continue
    if (isPackageFile(target)) continue
    const version = await readVersion(target)
    const content =
      version === undefined ? undefined : await readFile(target).catch(() => undefined)
    if (version === undefined || content === undefined) continue
    files.set(target, { digest: hash('sha256', content), version })
    if (moduleExtension.test(target)) pending.push(...findReferences(content.toString(), target))
  }
  // Files have their real paths: through a symbolic link to the folder, their relative paths stay the same.
  const realFolder = await realpath(folder).catch(() => folder)
  const entries = [...files].map(
    ([file, { digest }]) => [toPortable(realFolder, file), digest] as const,
  )
  return { digest: digestJson(entries.sort(([a], [b]) => byCodeUnit(a, b))), files }
}

/** Lists each folder once: most candidates of an import do not exist. */
class Folders {
  readonly #entries = new Map<string, Promise<ReadonlySet<string>>>()

  async contain(file: string): Promise<boolean> {
    const folder = path.dirname(file)
    let entries = this.#entries.get(folder)
    if (!entries) {
      entries = readdir(folder).then(
        (names) => new Set(names),
        () => new Set(),
      )
      this.#entries.set(folder, entries)
    }
    return (await entries).has(path.basename(file))
  }
}

const toPortable = (folder: string, file: string): string =>
  path.relative(folder, file).split(path.sep).join('/')

/** Whether none of the files was written since the graph was read, or all have the same content again. */
export async function isUnchanged({ files }: ModuleGraph): Promise<boolean> {
  const checks = [...files].map(async ([file, { digest, version }]) => {
    if ((await readVersion(file)) === version) return true
    const content = await readFile(file).catch(() => undefined)
    return content !== undefined && hash('sha256', content) === digest
  })
  return (await Promise.all(checks)).every(Boolean)
}

async function readVersion(file: string): Promise<string | undefined> {
  const state = await stat(file).catch(() => undefined)
  return state?.isFile()
    ? `${state.mtimeMs} ${state.ctimeMs} ${state.size} ${state.ino}`
    : undefined
}

export const isPackageFile = (file: string): boolean => /[\\/]node_modules[\\/]/.test(file)

const moduleExtension = /\.[cm]?[jt]sx?$/
const codeExtension = /\.([cm]?[jt]sx?|node|wasm)$/
const relativeLiteral = /['"`](\.{1,2}(?:\/[^'"`\n\\]*)?)['"`]/g
const importLiteral = /\b(?:from|import|require|resolve)\b[\s(]*['"`]([^'"`\n\\]+)['"`]/g

function findReferences(text: string, importer: string): string[] {
  const folder = path.dirname(importer)
  const toFiles = (reference: string) =>
    toCandidates(path.resolve(folder, reference.replace(/[?#].*$/, '')))
  const named = [...text.matchAll(relativeLiteral)].flatMap(([, reference = '']) =>
    toFiles(reference).filter((file) => codeExtension.test(file)),
  )
  const load = createRequire(importer)
  const imported = [...text.matchAll(importLiteral)].flatMap(([, reference = '']) =>
    reference.startsWith('.') ? toFiles(reference) : resolveImport(reference, load),
  )
  return [...named, ...imported]
}

const extensions = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx', '.json']

/** Every file that a loader could mean, in TypeScript too: `./x.js` may be `x.ts`. Missing ones are skipped. */
function toCandidates(target: string): string[] {
  const stem = target.replace(/\.[cm]?jsx?$/, '')
  const stems = stem === target ? [target] : [target, stem]
  return [
    target,
    ...stems.flatMap((base) => extensions.map((extension) => `${base}${extension}`)),
    ...extensions.map((extension) => path.join(target, `index${extension}`)),
  ]
}

/** Absolute paths, `#imports` and linked packages: those that resolve to a file outside `node_modules`. */
function resolveImport(reference: string, load: NodeJS.Require): string[] {
  if (isBuiltin(reference) || reference === 'drawbridge-mcp') return []
  try {
    return [reference.startsWith('file:') ? fileURLToPath(reference) : load.resolve(reference)]
  } catch {
    return []
  }
}
