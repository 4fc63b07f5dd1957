/** What keeps Drawbridge from starting. Its message is one clear line for the operator. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
}
