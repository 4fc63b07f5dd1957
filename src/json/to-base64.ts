export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

/** Characters that a number of bytes takes as base64. */
export const toBase64Length = (byteCount: number): number => Math.ceil(byteCount / 3) * 4
