import { randomBytes } from 'node:crypto'
import type { ApprovalRouteOptions } from '../http/approvals/approval-routes.ts'
import { createIdentifyApprover } from '../http/approvals/identify-approver.ts'
import type { Identify } from '../http/callers.ts'
import { createApproverSecret, readApproverSecret } from '../storage/approver-secret.ts'

/** The credential for deciding approvals where HTTP callers have no tokens. */
export interface ApproverCredential {
  /** Throws a `StorageError` that names the next step, when there is none that can be used. */
  read(): string
  /** The value at start, if it is in a file that a tool could read and return. */
  readonly storedValue?: string
  /** Where to find it, without a path of this machine. */
  readonly location: string
}

/** Beside the store, or in this process only if the store is in memory. */
export function openApproverCredential(
  store: string | undefined,
  onOperationalError: (error: unknown) => void,
): ApproverCredential {
  if (store === undefined || store === ':memory:') {
    const value = randomBytes(32).toString('base64url')
    return {
      read: () => value,
      location: 'the program that runs this server (bridge.approverToken)',
    }
  }
  // Read again for each decision: a deleted or replaced file takes effect at once.
  const read = () => readApproverSecret(store)
  const location = "the file with the extension .approver beside this server's store"
  try {
    return { read, location, storedValue: createApproverSecret(store) }
  } catch (error) {
    // Calls are served nevertheless: only deciding is impossible until the operator has acted.
    onOperationalError(error)
    return { read, location }
  }
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
        credentialHint: `Approvals need a credential of their own: send "Authorization: Bearer" with the one in ${credential.location}, or run "drawbridge approvals" on the server`,
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
