import { SetupError } from '../../capability/setup-error.ts'

/** Thrown when no grant token can be used. */
export class CredentialError extends SetupError {
  readonly reason: CredentialFault

  constructor(reason: CredentialFault, message: string) {
    super(message)
    this.reason = reason
  }
}

/** `owner`: an owner's credential, which is refused. `invalid`: missing, unknown, expired or revoked. */
export type CredentialFault = 'owner' | 'invalid'
