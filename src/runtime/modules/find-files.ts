import { stat } from 'node:fs/promises'
import path from 'node:path'

/** The files that match the patterns, relative to the folder, with slashes. */
export async function findFiles(patterns: readonly string[], folder: string): Promise<string[]> {
  const plainFiles = await Promise.all(patterns.map((pattern) => findPlainFile(pattern, folder)))
  if (plainFiles.every((file) => file !== undefined)) return [...new Set(plainFiles)]
  // Loaded for patterns only: most configurations name files.
  const { glob } = await import('tinyglobby')
  return glob([...patterns], { cwd: folder, onlyFiles: true })
}

/** The file that a pattern without wildcards names. Folders and hidden files are left to the glob. */
async function findPlainFile(pattern: string, folder: string): Promise<string | undefined> {
  if (/[*?[\]{}()!+@|\\]|(^|\/)\.[^./]/.test(pattern)) return undefined
  const file = path.resolve(folder, pattern)
  const stats = await stat(file).catch(() => undefined)
  return stats?.isFile() ? path.relative(folder, file).split(path.sep).join('/') : undefined
}
