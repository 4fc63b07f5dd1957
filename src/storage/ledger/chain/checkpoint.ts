import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Fault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { toKeyBytes } from '../seals/seal.ts'
import type { ChainName } from './chain-block.ts'

/**
 * The end of a chain at some time, signed with Ed25519. A receiver needs no secret to verify it, and whoever
 * changes the store later, even with its key, cannot change a checkpoint that is elsewhere.
 */
export interface Checkpoint {
  /** Public key of the store, Ed25519 in base64url: identifies the store and verifies the signature. */
  readonly store: string
  /** Grows with every restore or repair of the store. */
  readonly generation: number
  readonly chain: ChainName
  /** Number of records, with purged ones. */
  readonly count: number
  /** Digest of the last record, and so of all records. */
  readonly head: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Signs checkpoints of one store. */
export class CheckpointSigner {
  readonly #key: KeyObject
  /** The public key, Ed25519 in base64url. */
  readonly publicKey: string

  constructor(secret: string) {
    const seed = toKeyBytes(secret, 'checkpoint signatures')
    const der = Buffer.concat([ed25519Prefix, seed])
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    this.publicKey = createPublicKey(this.#key).export({ format: 'jwk' }).x ?? ''
  }

  /** One line of canonical JSON (RFC 8785); the signature covers it without the field `signature`. */
  sign(end: Omit<Checkpoint, 'store'>): string {
    const checkpoint: Checkpoint = { store: this.publicKey, ...end }
    const signature = sign(null, toSignedBytes(checkpoint), this.#key).toString('base64url')
    return canonicalize({ ...checkpoint, signature }) ?? ''
  }
}

/** PKCS #8 of an Ed25519 private key, up to its 32 bytes (RFC 8410). */
const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Reads a line that `CheckpointSigner` wrote. */
export function readCheckpoint(line: string, publicKey: string): Checkpoint | Fault {
  const value = parseJson(line)
  const { signature = '', ...checkpoint } = isPlainObject(value) ? value : {}
  if (!isCheckpoint(checkpoint) || typeof signature !== 'string')
    return { fault: 'is not a checkpoint' }
  if (checkpoint.store !== publicKey)
    return { fault: 'is signed with another key: it is of another store, or the key was replaced' }
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: publicKey },
    format: 'jwk',
  })
  const isValid = verify(null, toSignedBytes(checkpoint), key, Buffer.from(signature, 'base64url'))
  return isValid ? checkpoint : { fault: 'has an invalid signature' }
}

const toSignedBytes = (checkpoint: Checkpoint): Buffer =>
  Buffer.from(`drawbridge checkpoint\n${canonicalize(checkpoint)}`)

const isCheckpoint = (
  value: Readonly<Record<string, unknown>>,
): value is Checkpoint & typeof value =>
  typeof value.store === 'string' &&
  typeof value.head === 'string' &&
  (value.chain === 'audit' || value.chain === 'execution_events') &&
  Number.isSafeInteger(value.generation) &&
  Number.isSafeInteger(value.count) &&
  Number.isSafeInteger(value.at)
