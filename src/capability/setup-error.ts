/** Thrown when Drawbridge cannot start. The message is one line for the operator. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
}
