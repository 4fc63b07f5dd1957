import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { StorageError } from '../capability/storage-error.ts'

/**
 * Small files beside a store, which a copy of the database alone does not contain. `key` authenticates
 * entries, `approver` is the credential for deciding approvals, `witness` is compared with the database.
 */
export type Companion = 'key' | 'approver' | 'witness'

/** Symbolic links to the store are resolved, so that every path to it finds the same files. */
export const toCompanionFile = (store: string, companion: Companion): string =>
  `${existsSync(store) ? realpathSync(store) : store}.${companion}`

/** The secret in a file, as text; `undefined` if the file does not exist. */
export function readSecret(file: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StorageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  if (!secretPattern.test(text)) throw new StorageError(`${file} does not contain a secret.`)
  return text
}

/** 32 bytes in base64url. */
const secretPattern = /^[\w-]{43}$/

/** Reads the secret in a file, or creates the file with a random one that only its owner can read. */
export function readOrCreateSecret(file: string): string {
  return readSecret(file) ?? createSecret(file) ?? readOrCreateSecret(file)
}

/** Returns `undefined` when another process has created the file first: link(2) does not replace it. */
function createSecret(file: string): string | undefined {
  const secret = randomBytes(32).toString('base64url')
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  let descriptor: number | undefined
  try {
    descriptor = openSync(draft, 'wx', 0o600)
    writeSync(descriptor, `${secret}\n`)
    fsyncSync(descriptor)
    linkSync(draft, file)
    return secret
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw new StorageError(`${file} cannot be created: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    if (descriptor !== undefined) {
      closeSync(descriptor)
      unlinkSync(draft)
    }
  }
}
