import type { BlobBinding, StoredBlob } from '../../sources/records/record-store.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/** Binary attachments, and the records that refer to them. */
export class BlobTable {
  readonly #database: Sqlite

  constructor(database: Sqlite) {
    this.#database = database
  }

  put({ id, mimeType, bytes }: StoredBlob, { source, key }: BlobBinding): void {
    // One of the drivers binds an empty byte array as null.
    this.#database
      .prepare(`insert or ignore into blobs (id, mime, bytes) values (?, ?, coalesce(?, x''))`)
      .run(id, mimeType, bytes)
    this.#database
      .prepare('insert or ignore into bindings (blob, source, key) values (?, ?, ?)')
      .run(id, source, key)
  }

  find(id: string): StoredBlob | undefined {
    const row = this.#database
      .prepare<{ mime: string; bytes: Uint8Array | ArrayBuffer }>(
        'select mime, bytes from blobs where id = ?',
      )
      .get(id)
    // One driver returns a Uint8Array, the other an ArrayBuffer.
    return row && { id, mimeType: row.mime, bytes: new Uint8Array(row.bytes) }
  }

  bindings(blobId: string): readonly BlobBinding[] {
    return this.#database
      .prepare<BlobBinding>('select source, key from bindings where blob = ? order by source, key')
      .all(blobId)
  }
}
