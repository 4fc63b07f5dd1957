import { readFile, stat } from 'node:fs/promises'
import { SetupError } from '../capability/setup-error.ts'
import { toReadError } from './file-errors.ts'

/** Far above ordinary manifests and configurations. */
const defaultMaxBytes = 8 * 1024 * 1024

/** Reads a manifest, a configuration or a document. Throws a `SetupError` that names the file and what is wrong with it. */
export async function readTextFile(file: string, maxBytes = defaultMaxBytes): Promise<string> {
  try {
    const stats = await stat(file)
    if (stats.isDirectory()) throw new SetupError(`${file} is a folder, not a file.`)
    if (!stats.isFile()) throw new SetupError(`${file} is not a file.`)
    if (stats.size > maxBytes)
      throw new SetupError(`${file} is larger than ${maxBytes / 1024 / 1024} MB.`)
    return decode(file, await readFile(file))
  } catch (error) {
    throw error instanceof SetupError ? error : toReadError(file, error as NodeJS.ErrnoException)
  }
}

function decode(file: string, bytes: Buffer): string {
  const start = bytes.subarray(0, 2).toString('hex')
  if (start === 'fffe' || start === 'feff')
    throw new SetupError(`${file} is encoded as UTF-16. Save it as UTF-8.`)
  if (bytes.includes(0)) throw new SetupError(`${file} is a binary file, not text in UTF-8.`)
  try {
    // Removes a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SetupError(`${file} is not valid UTF-8. Save it as UTF-8.`)
  }
}
