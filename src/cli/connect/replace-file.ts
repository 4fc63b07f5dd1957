import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { access, lstat, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'

/** A text file of another program. */
export interface TextFile {
  /** The file itself, behind symbolic links. */
  readonly target: string
  /** `undefined` if it does not exist. */
  readonly text: string | undefined
}

/** Reads a file; throws if it cannot be changed without damage. */
export async function readTextFile(file: string): Promise<TextFile> {
  const isThere = await lstat(file).then(() => true, isMissing)
  if (!isThere) return { target: file, text: undefined }
  try {
    const target = await realpath(file)
    await access(target, constants.R_OK | constants.W_OK)
    // Fatal: a replacement character would change bytes that are not ours.
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return { target, text: decoder.decode(await readFile(target)) }
  } catch (error) {
    throw new SetupError(`${file} cannot be changed, so nothing was written: ${explain(error)}`)
  }
}

function isMissing(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT') return false
  throw new SetupError(`${error.message}. Nothing was written.`)
}

const explain = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'it is a symbolic link to a file that does not exist'
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not valid UTF-8' : message
}

/** Atomic. The file gets mode and owner of `model`; if that does not exist, only its owner can read it. */
export async function replaceTextFile(target: string, text: string, model: string): Promise<void> {
  const draft = `${target}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await mkdir(path.dirname(target), { recursive: true })
    const existing = await stat(model).catch(() => undefined)
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      if (existing) await copyAccess(existing, handle)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw new SetupError(`${target} cannot be written: ${(error as Error).message}`)
  }
}

async function copyAccess(
  { mode, uid, gid }: Stats,
  handle: Awaited<ReturnType<typeof open>>,
): Promise<void> {
  const created = await handle.stat()
  // First the owner: changing it clears some bits of the mode.
  if (created.uid !== uid || created.gid !== gid) await handle.chown(uid, gid)
  await handle.chmod(mode & 0o7777)
}
