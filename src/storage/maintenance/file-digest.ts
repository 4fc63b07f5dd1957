import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'

const chunkBytes = 1024 * 1024

/** SHA-256 of a file of any size, in hexadecimal. */
export function digestFile(file: string): string {
  const digest = createHash('sha256')
  const buffer = Buffer.alloc(chunkBytes)
  const descriptor = openSync(file, 'r')
  try {
    for (let length = 1; length > 0; ) {
      length = readSync(descriptor, buffer)
      digest.update(buffer.subarray(0, length))
    }
  } finally {
    closeSync(descriptor)
  }
  return digest.digest('hex')
}
