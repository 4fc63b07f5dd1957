import canonicalize from 'canonicalize'
import { z } from 'zod'
import type { Fault } from '../../../capability/fault.ts'
import { parseJson } from '../../../json/parse-json.ts'
import { decrypt, encrypt, fromBase64, ivBytes, toBase64 } from './aes-gcm.ts'
import { findEncryptionKey, type KeyRing } from './key-ring.ts'
import type { ReplayCache } from './replay-cache.ts'

/** The plaintext header of a sealed message, authenticated as associated data. */
const headerShape = z.strictObject({
  v: z.literal(2),
  kid: z.string(),
  intent: z.string(),
  sender: z.string(),
  recipient: z.string(),
  direction: z.enum(['request', 'response', 'notice']),
  requestId: z.string(),
  /** Milliseconds since the epoch. */
  issuedAt: z.number(),
  expiresAt: z.number(),
  identityChain: z.array(z.string()),
})

const sealedShape = headerShape.extend({ iv: z.string(), data: z.string() })

type MessageHeader = z.output<typeof headerShape>
export type SealedMessage = z.output<typeof sealedShape>

export type MessageLabel = Omit<MessageHeader, 'v' | 'kid' | 'issuedAt' | 'expiresAt'>

export interface SealOptions {
  readonly ring: KeyRing
  readonly now: () => number
  readonly randomBytes: (size: number) => Uint8Array
}

const lifetimeMs = 60_000
const maxClockSkewMs = 30_000

export function sealMessage(
  options: SealOptions,
  kid: string,
  label: MessageLabel,
  plain: unknown,
) {
  const issuedAt = Math.round(options.now())
  const header: MessageHeader = { v: 2, kid, ...label, issuedAt, expiresAt: issuedAt + lifetimeMs }
  const iv = options.randomBytes(ivBytes)
  const key = findEncryptionKey(options.ring, kid)
  const data = encrypt(key, iv, toAssociatedData(header), JSON.stringify(plain))
  return { ...header, iv: toBase64(iv), data: toBase64(data) } satisfies SealedMessage
}

/** Header values that the receiver requires. */
export interface ExpectedLabel extends Partial<Omit<MessageLabel, 'direction' | 'identityChain'>> {
  readonly direction: MessageLabel['direction']
  /** Rejects replays. */
  readonly replays?: ReplayCache
  /** Rejects messages issued earlier: the replay cache does not survive a restart. */
  readonly since?: number
}

export interface OpenedMessage {
  readonly header: MessageHeader
  readonly plain: unknown
}

/** The fault is for the log only: it would help an attacker. */
export function openMessage(
  options: SealOptions,
  value: unknown,
  expected: ExpectedLabel,
): OpenedMessage | Fault {
  const parsed = sealedShape.safeParse(value)
  if (!parsed.success) return { fault: 'it is not a sealed message' }
  const message = parsed.data
  const { iv, data, ...header } = message
  const key = options.ring.get(message.kid)
  const [nonce, bytes] = [fromBase64(iv), fromBase64(data)]
  if (!key || !nonce || !bytes) return { fault: 'its key is unknown, or it is not base64' }
  const text = decrypt(key, nonce, toAssociatedData(header), bytes)
  if (text === undefined) return { fault: 'it was modified, or sealed with another key' }
  const fault = findFault(message, expected, options.now())
  if (fault !== undefined) return { fault }
  const plain = parseJson(text)
  return plain === undefined ? { fault: 'the decrypted text is not valid JSON' } : { header, plain }
}

function findFault(
  message: SealedMessage,
  expected: ExpectedLabel,
  now: number,
): string | undefined {
  const { replays, since = 0, ...labels } = expected
  for (const [name, value] of Object.entries(labels))
    if (message[name as keyof SealedMessage] !== value) return `its ${name} is not the expected one`
  if (now > message.expiresAt + maxClockSkewMs) return 'it has expired'
  if (message.expiresAt - message.issuedAt > lifetimeMs) return 'its lifetime is too long'
  if (message.issuedAt > now + maxClockSkewMs) return 'it was issued in the future'
  if (message.issuedAt + maxClockSkewMs < since) return 'it was issued before this process started'
  // Checked last: only authentic messages enter the cache, so forged ones cannot fill it.
  const id = `${message.kid} ${message.iv}`
  return replays && !replays.admit(id, message.expiresAt + maxClockSkewMs)
    ? 'it is a replay'
    : undefined
}

const toAssociatedData = (header: MessageHeader): string => canonicalize(header) ?? ''
