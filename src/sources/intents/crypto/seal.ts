import canonicalize from 'canonicalize'
import { z } from 'zod'
import { decrypt, encrypt, fromBase64, ivSize, toBase64 } from './aes-gcm.ts'
import { findEncryptionKey, type KeyRing } from './key-ring.ts'
import type { ReplayCache } from './replay-cache.ts'

/** Everything that an encrypted message says in the open, and that nobody can change. */
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

type Header = z.output<typeof headerShape>
export type SealedMessage = z.output<typeof sealedShape>

export type Label = Omit<Header, 'v' | 'kid' | 'issuedAt' | 'expiresAt'>

export interface SealOptions {
  readonly ring: KeyRing
  readonly now: () => number
  readonly randomBytes: (size: number) => Uint8Array
}

/** How long a message may be on its way, and how wrong a clock may go. */
const lifetime = 60_000
const skew = 30_000

export function seal(options: SealOptions, kid: string, label: Label, plain: unknown) {
  const issuedAt = Math.round(options.now())
  const header: Header = { v: 2, kid, ...label, issuedAt, expiresAt: issuedAt + lifetime }
  const iv = options.randomBytes(ivSize)
  const key = findEncryptionKey(options.ring, kid)
  const data = encrypt(key, iv, toAssociated(header), JSON.stringify(plain))
  return { ...header, iv: toBase64(iv), data: toBase64(data) } satisfies SealedMessage
}

/** What the receiver knows already. */
export interface Expected extends Partial<Omit<Label, 'direction' | 'identityChain'>> {
  readonly direction: Label['direction']
  /** Refuses what was shown before. */
  readonly replays?: ReplayCache
  /** Nothing older: what was seen before this process began is not known to it. */
  readonly since?: number
}

export type Opened =
  | { readonly message: SealedMessage; readonly plain: unknown }
  /** For the log; whoever sent it is told nothing. */
  | { readonly fault: string }

export function open(options: SealOptions, value: unknown, expected: Expected): Opened {
  const parsed = sealedShape.safeParse(value)
  if (!parsed.success) return { fault: 'it has not the form of a sealed message' }
  const message = parsed.data
  const { iv, data, ...header } = message
  const key = options.ring.get(message.kid)
  const [nonce, bytes] = [fromBase64(iv), fromBase64(data)]
  if (!key || !nonce || !bytes) return { fault: 'its key is not known, or it is not base64' }
  const text = decrypt(key, nonce, toAssociated(header), bytes)
  if (text === undefined) return { fault: 'it was changed, or sealed with another key' }
  const fault = findFault(message, expected, options.now())
  if (fault !== undefined) return { fault }
  try {
    return { message, plain: JSON.parse(text) }
  } catch {
    return { fault: 'what was sealed is no JSON' }
  }
}

function findFault(message: SealedMessage, expected: Expected, now: number): string | undefined {
  const { replays, since = 0, ...labels } = expected
  for (const [name, value] of Object.entries(labels))
    if (message[name as keyof SealedMessage] !== value) return `its ${name} is another one`
  if (now > message.expiresAt + skew) return 'it has expired'
  if (message.expiresAt - message.issuedAt > lifetime) return 'it is good for too long'
  if (message.issuedAt > now + skew) return 'it comes from the future'
  if (message.issuedAt + skew < since) return 'it is older than this process'
  // Last: only what is genuine is remembered, so that nobody can fill the memory with rubbish.
  const id = `${message.kid} ${message.iv}`
  return replays && !replays.admit(id, message.expiresAt + skew) ? 'it came before' : undefined
}

const toAssociated = (header: Header): string => canonicalize(header) ?? ''
