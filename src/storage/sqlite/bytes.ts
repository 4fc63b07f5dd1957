/** A blob. The drivers differ: `Buffer`, `Uint8Array` or `ArrayBuffer`. */
export type Bytes = Uint8Array | ArrayBuffer

export const toText = (bytes: Bytes): string => toBytes(bytes).toString()

/** The same bytes, not copied. */
export const toBytes = (bytes: Bytes): Buffer =>
  bytes instanceof ArrayBuffer
    ? Buffer.from(bytes)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
