import { randomBytes } from 'node:crypto'
import { StorageError } from '../../capability/storage-error.ts'
import type { SqliteLedger } from '../../storage/ledger/sqlite-ledger.ts'

/**
 * The key that seals request states. It is in the store, so that a state from before a restart, or from
 * another process on the same store, is accepted.
 */
export function readRequestStateKey(
  ledger: Pick<SqliteLedger, 'sharedSecret'>,
  onOperationalError: (error: unknown) => void,
): Uint8Array {
  const create = () => randomBytes(keyBytes).toString('base64url')
  try {
    const key = Buffer.from(ledger.sharedSecret('request_state', create), 'base64url')
    if (key.length === keyBytes) return key
    throw new StorageError('the key in the store is damaged')
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    onOperationalError(
      new Error('Open questions to clients will not survive a restart', { cause: error }),
    )
    return randomBytes(keyBytes)
  }
}

/** A256GCM. */
const keyBytes = 32
