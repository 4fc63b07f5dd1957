import { randomBytes } from 'node:crypto'
import { StorageError } from '../../capability/storage-error.ts'
import type { ApprovalRouteOptions } from '../../http/approvals/approval-routes.ts'
import { createIdentifyApprover } from '../../http/approvals/identify-approver.ts'
import type { Identify } from '../../http/callers.ts'
import { createApproverSecret, readApproverSecret } from '../../storage/approver-secret.ts'

/** The credential for deciding approvals where HTTP callers have no tokens. */
export interface ApproverCredential {
  /** Throws a `StorageError` that names the next step, when there is none that can be used. */
  read(): string
  /** The value, if it is in a file that a tool could read and return: results must not contain it. */
  readonly storedValue?: string
  /** How to use it over HTTP, without a path of this machine. */
  readonly hint: string
}

/** Beside the store, or in this process only if the store is in memory. */
export function openApproverCredential(
  store: string | undefined,
  onOperationalError: (error: unknown) => void,
): ApproverCredential {
  if (store === undefined || store === ':memory:') {
    const value = randomBytes(32).toString('base64url')
    return { read: () => value, hint: toHint('bridge.approverToken of the program that runs it') }
  }
  const hint = `${toHint("the content of the file with the extension .approver beside the server's store")}, or run "drawbridge approvals" there`
  try {
    const storedValue = createApproverSecret(store)
    return { read: () => readUnchanged(store, storedValue), hint, storedValue }
  } catch (error) {
    // Calls are served nevertheless: only deciding is impossible until the operator has acted.
    onOperationalError(error)
    return { read: () => readUnchanged(store, undefined), hint }
  }
}

const toHint = (bearer: string): string =>
  `Approvals need a credential of their own: send "Authorization: Bearer" with ${bearer}`

/** Reads the file each time: a deleted one takes effect at once. A new one is not redacted from results yet. */
function readUnchanged(store: string, valueAtStart: string | undefined): string {
  const value = readApproverSecret(store)
  if (value === valueAtStart) return value
  throw new StorageError(
    'Approvals cannot be decided over HTTP: the approver credential was replaced after this server started. Restart it.',
  )
}

/**
 * Who may decide over HTTP: holders of configured tokens, or else of the credential. Not both: with
 * tokens, other machines may reach the server, and a copy of the file must be worth nothing there.
 */
export const toApprovalAccess = (
  identifyToken: Identify | undefined,
  credential: ApproverCredential,
  onOperationalError: (error: unknown) => void,
): Pick<ApprovalRouteOptions, 'identify' | 'credentialHint'> =>
  identifyToken
    ? {
        identify: identifyToken,
        credentialHint: 'A valid bearer token with the scope approvals:decide is required',
      }
    : {
        identify: createIdentifyApprover(() => readOrReport(credential, onOperationalError)),
        credentialHint: credential.hint,
      }

function readOrReport(
  credential: ApproverCredential,
  onOperationalError: (error: unknown) => void,
): string | undefined {
  try {
    return credential.read()
  } catch (error) {
    onOperationalError(error)
    return undefined
  }
}
