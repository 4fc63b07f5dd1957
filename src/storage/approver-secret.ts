import { StorageError } from '../capability/storage-error.ts'
import { readOrCreateSecret, readSecret, toCompanionFile } from './companion-files.ts'
import { findExposure, hasTrustedOwner } from './private-file.ts'

/** Creates the credential for deciding approvals beside a store, if there is none. */
export const createApproverSecret = (store: string): string => {
  readOrCreateSecret(toCompanionFile(store, 'approver'))
  return readApproverSecret(store)
}

/** Reads it. A file that is missing, or that another user could have read or made, is refused. */
export function readApproverSecret(store: string): string {
  const file = toCompanionFile(store, 'approver')
  const refuse = (problem: string) => {
    throw new StorageError(`Approvals cannot be decided: the credential ${file} ${problem}`)
  }
  const secret = readOrExplain(file)
  if (secret === undefined) return refuse(`does not exist. ${nextStep}`)
  const mode = findExposure(file)
  if (mode !== undefined)
    return refuse(`can be read or changed by other users (mode ${mode}). Delete it. ${nextStep}`)
  if (!hasTrustedOwner(file, store))
    return refuse(`belongs to another user than the store. Delete it. ${nextStep}`)
  return secret
}

const nextStep = '"drawbridge serve" and "drawbridge call" create a new one when they start.'

function readOrExplain(file: string): string | undefined {
  try {
    return readSecret(file)
  } catch (error) {
    const isForeign = error instanceof Error && isPermissionError(error.cause)
    const advice = isForeign
      ? 'Decide as the user of the operating system that runs the server, or over HTTP with a token.'
      : `Delete the file. ${nextStep}`
    throw new StorageError(`${(error as Error).message} ${advice}`, { cause: error })
  }
}

const isPermissionError = (cause: unknown): boolean =>
  cause instanceof Error &&
  ['EACCES', 'EPERM'].includes((cause as NodeJS.ErrnoException).code ?? '')
