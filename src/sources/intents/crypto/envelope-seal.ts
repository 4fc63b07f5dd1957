import { isPlainObject } from '../../../capability/json.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { openV1, sealV1 } from './emcl-v1.ts'
import { findEncryptionKey } from './key-ring.ts'
import type { ReplayCache } from './replay-cache.ts'
import { open, type SealOptions, seal } from './seal.ts'

export const sealFormats = ['v2', 'v1'] as const

export interface SealChoice {
  readonly format: (typeof sealFormats)[number]
  /** Which key seals; what is opened says its own. */
  readonly key: string
}

/** Makes a body that only the other side can read, and reads theirs. One per exchange. */
export interface EnvelopeSeal {
  seal(plain: unknown): object
  open(body: unknown): { readonly plain: unknown } | { readonly fault: string }
}

/** For whoever asks: the request goes out sealed, and only its own answer is taken back. */
export function sealRequest(
  options: SealOptions,
  choice: SealChoice,
  envelope: IntentEnvelope,
  { sender, recipient }: { readonly sender: string; readonly recipient: string },
): EnvelopeSeal {
  const { identityChain, requestId } = envelope.metadata
  if (choice.format === 'v1') return toV1(options, choice, identityChain)
  const intent = toLabel(envelope)
  return {
    seal: (plain) =>
      seal(
        options,
        choice.key,
        {
          intent,
          sender,
          recipient,
          direction: 'request',
          requestId,
          identityChain: [...identityChain],
        },
        plain,
      ),
    open: (body) =>
      open(options, body, {
        direction: 'response',
        intent,
        sender: recipient,
        recipient: sender,
        requestId,
      }),
  }
}

export interface Reception {
  /** What this side is called: nothing is taken that was meant for somebody else. */
  readonly node: string
  readonly replays: ReplayCache
  readonly since: number
}

/** For whoever is asked: opens a request, and seals the answer to it. */
export function openRequest(
  options: SealOptions,
  choice: SealChoice,
  body: unknown,
  { node, replays, since }: Reception,
):
  | { readonly plain: unknown; readonly answer: (plain: unknown) => object }
  | { readonly fault: string } {
  if (choice.format === 'v1') {
    const v1 = toV1(options, choice, [])
    const opened = v1.open(body)
    return 'fault' in opened ? opened : { plain: opened.plain, answer: v1.seal }
  }
  const opened = open(options, body, { direction: 'request', recipient: node, replays, since })
  if ('fault' in opened) return opened
  const { intent, sender, requestId, kid, identityChain } = opened.message
  const mismatch = findMismatch(opened.plain, { intent, requestId })
  if (mismatch !== undefined) return { fault: mismatch }
  return {
    plain: opened.plain,
    answer: (plain) =>
      seal(
        options,
        kid,
        {
          intent,
          sender: node,
          recipient: sender,
          direction: 'response',
          requestId,
          identityChain,
        },
        plain,
      ),
  }
}

/** What stands outside must be what stands inside. */
function findMismatch(
  plain: unknown,
  label: { readonly intent: string; readonly requestId: string },
): string | undefined {
  const { intent, metadata } = (isPlainObject(plain) ? plain : {}) as Partial<IntentEnvelope>
  if (!intent || !metadata) return 'what was sealed is no envelope'
  if (toLabel({ intent }) !== label.intent) return 'its intent is another one'
  return metadata.requestId === label.requestId ? undefined : 'its requestId is another one'
}

const toLabel = ({ intent }: Pick<IntentEnvelope, 'intent'>): string =>
  `${intent.name} ${intent.version}`

function toV1(
  options: SealOptions,
  { key }: SealChoice,
  identityChain: readonly string[],
): EnvelopeSeal {
  const bytes = findEncryptionKey(options.ring, key)
  return {
    seal: (plain) => sealV1(options, bytes, identityChain, plain),
    open: (body) => openV1(bytes, body),
  }
}
