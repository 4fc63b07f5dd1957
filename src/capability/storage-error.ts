/** A database file cannot be read or written: disk full, file damaged, file locked. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError'
}

/** The content of a database file is wrong: bytes were changed, or commits and rows are missing. */
export class DamageError extends StorageError {
  override readonly name = 'DamageError'
}

/** The rows of a database file are still being checked: until then it is not known whether it is damaged. */
export class CheckingError extends StorageError {
  override readonly name = 'CheckingError'
  /** An estimate of the time that the check still takes. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}
