import { type Fault, isFault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { openV1, sealV1 } from './emcl-v1.ts'
import { findEncryptionKey } from './key-ring.ts'
import type { ReplayCache } from './replay-cache.ts'
import { openMessage, type SealOptions, sealMessage } from './seal.ts'
import type { sealFormats } from './seal-formats.ts'

export interface SealChoice {
  readonly format: (typeof sealFormats)[number]
  /** Id of the key for sealing; a sealed message names its own. */
  readonly key: string
}

/** Seals the request and opens the response of one exchange. */
export interface EnvelopeSeal {
  seal(plain: unknown): object
  open(body: unknown): { readonly plain: unknown } | Fault
}

/** The client side: seals a request, and opens only the response to it. */
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
      sealMessage(
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
      openMessage(options, body, {
        direction: 'response',
        intent,
        sender: recipient,
        recipient: sender,
        requestId,
      }),
  }
}

export interface SealRecipient {
  /** Name of this node: messages for other recipients are rejected. */
  readonly node: string
  readonly replays: ReplayCache
  /** Start of this process: older messages are rejected, because the replay cache is empty. */
  readonly since: number
}

/** The server side: opens a request, and seals the response to it. */
export function openRequest(
  options: SealOptions,
  choice: SealChoice,
  body: unknown,
  { node, replays, since }: SealRecipient,
): { readonly plain: unknown; readonly answer: (plain: unknown) => object } | Fault {
  if (choice.format === 'v1') {
    const v1 = toV1(options, choice, [])
    const message = v1.open(body)
    return isFault(message) ? message : { plain: message.plain, answer: v1.seal }
  }
  const message = openMessage(options, body, {
    direction: 'request',
    recipient: node,
    replays,
    since,
  })
  if (isFault(message)) return message
  const { intent, sender, requestId, kid, identityChain } = message.header
  const mismatch = findMismatch(message.plain, { intent, requestId })
  if (mismatch !== undefined) return { fault: mismatch }
  return {
    plain: message.plain,
    answer: (plain) =>
      sealMessage(
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

/** The authenticated label must match the envelope inside. */
function findMismatch(
  plain: unknown,
  label: { readonly intent: string; readonly requestId: string },
): string | undefined {
  const { intent, metadata } = (isPlainObject(plain) ? plain : {}) as Partial<IntentEnvelope>
  if (!intent || !metadata) return 'the sealed content is not an envelope'
  if (toLabel({ intent }) !== label.intent) return 'its intent differs from the label'
  return metadata.requestId === label.requestId ? undefined : 'its requestId differs from the label'
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
