import { open } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../capability/setup-error.ts'

/** Explains a system error with the name of the file instead of the system call. */
export function toReadError(file: string, error: NodeJS.ErrnoException): SetupError {
  const messages: Readonly<Record<string, string>> = {
    ENOENT: `${file} does not exist.`,
    EACCES: `${file} cannot be read: permission denied.`,
    EISDIR: `${file} is a folder, not a file.`,
  }
  return new SetupError(
    messages[error.code ?? ''] ?? `${file} cannot be read: ${error.code ?? error}`,
  )
}

export function toWriteError(file: string, error: NodeJS.ErrnoException): SetupError {
  const folder = path.dirname(file)
  const messages: Readonly<Record<string, string>> = {
    ENOENT: `${file} cannot be written: there is no folder ${folder}.`,
    EACCES: `${file} cannot be written: permission denied.`,
    EISDIR: `${file} cannot be written: it is a folder.`,
    ENOTDIR: `${file} cannot be written: ${folder} is not a folder.`,
    ENOSPC: `${file} cannot be written: the disk is full.`,
  }
  return new SetupError(
    messages[error.code ?? ''] ?? `${file} cannot be written: ${error.code ?? error}`,
  )
}

/** Throws if a file cannot be read, so that a verb fails before it starts any work. */
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
