/** A database file cannot be read or written: disk full, file damaged, file locked. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}
