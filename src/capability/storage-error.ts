/** A database file cannot be read or written: disk full, file damaged, file locked. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError'
}

/** The content of a database file is wrong: bytes were changed, or commits and rows are missing. */
export class DamageError extends StorageError {
  override readonly name = 'DamageError'
}
