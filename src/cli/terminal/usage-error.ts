/** An invalid command line. The message says what is expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
