import { SetupError } from './setup-error.ts'

/** A credential that keeps Drawbridge from starting: an owner's (77), or none that is good (78). */
export class CredentialError extends SetupError {
  readonly exitCode: 77 | 78

  constructor(exitCode: 77 | 78, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
