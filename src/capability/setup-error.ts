/** Thrown when Drawbridge cannot start. The message is one line for the operator. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
}

/** Exit code 77: an owner credential was refused; 78: the credential is missing or expired. */
export class CredentialError extends SetupError {
  readonly exitCode: 77 | 78

  constructor(exitCode: 77 | 78, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
