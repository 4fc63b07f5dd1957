import { open } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../capability/setup-error.ts'

/** Why a file cannot be read, in words that name it and not the system's call. */
export function toReadError(file: string, error: NodeJS.ErrnoException): SetupError {
  const known: Readonly<Record<string, string>> = {
    ENOENT: `${file} does not exist.`,
    EACCES: `${file} cannot be read: that is not permitted.`,
    EISDIR: `${file} is a folder, not a file.`,
  }
  return new SetupError(known[error.code ?? ''] ?? `${file} cannot be read: ${error.code ?? error}`)
}

export function toWriteError(file: string, error: NodeJS.ErrnoException): SetupError {
  const folder = path.dirname(file)
  const known: Readonly<Record<string, string>> = {
    ENOENT: `${file} cannot be written: there is no folder ${folder}.`,
    EACCES: `${file} cannot be written: that is not permitted.`,
    EISDIR: `${file} cannot be written: it is a folder.`,
    ENOTDIR: `${file} cannot be written: ${folder} is no folder.`,
    ENOSPC: `${file} cannot be written: the disk is full.`,
  }
  return new SetupError(
    known[error.code ?? ''] ?? `${file} cannot be written: ${error.code ?? error}`,
  )
}

/** Before anything is begun for its sake. */
export async function checkReadable(file: string): Promise<void> {
  try {
    const handle = await open(file)
    const isFolder = (await handle.stat()).isDirectory()
    await handle.close()
    if (isFolder) throw Object.assign(new Error(), { code: 'EISDIR' })
  } catch (error) {
    throw toReadError(file, error as NodeJS.ErrnoException)
  }
}
