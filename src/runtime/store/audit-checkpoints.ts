import type { Diagnostic } from '../../capability/diagnostic.ts'
import { CheckpointSigner } from '../../storage/ledger/chain/checkpoint.ts'
import type { SqliteLedger } from '../../storage/ledger/sqlite-ledger.ts'
import type { Egress } from '../../upstream/egress/egress.ts'
import type { Config } from '../config/config-shape.ts'

interface CheckpointParts {
  readonly ledger: SqliteLedger
  readonly now: () => number
  /** Decides about a URL, by the policy in force. */
  readonly egress: () => Egress
  readonly onError: (error: unknown) => void
}

type CheckpointSettings = NonNullable<Config['audit']['checkpoints']>

export const startCheckpoints = (
  settings: CheckpointSettings | undefined,
  parts: CheckpointParts,
): CheckpointTimer | undefined => settings && new CheckpointTimer(settings, parts)

/**
 * Sends signed checkpoints of both chains at intervals, outside the path of calls. A checkpoint that could
 * not be sent is not repeated: the next one covers the same records.
 */
export class CheckpointTimer {
  readonly #settings: CheckpointSettings
  readonly #parts: CheckpointParts
  readonly #signer: CheckpointSigner
  readonly #timer: NodeJS.Timeout
  /** Heads that the target has confirmed, by chain. */
  readonly #sentHeads = new Map<string, string>()
  #sending: Promise<void> | undefined

  constructor(settings: CheckpointSettings, parts: CheckpointParts) {
    this.#settings = settings
    this.#parts = parts
    this.#signer = new CheckpointSigner(parts.ledger.secret)
    this.#timer = setInterval(() => void this.#send(), settings.every * 1000).unref()
  }

  /** Sends what was recorded since the last checkpoint. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
    this.#parts.ledger.flush()
    await this.#send()
  }

  #send(): Promise<void> {
    // One at a time: a slow target must not accumulate programs or requests.
    this.#sending ??= this.#sendNew().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #sendNew(): Promise<void> {
    try {
      const { audit, executions } = this.#parts.ledger
      const chains = [audit, executions.events].map((chain) => ({
        name: chain.name,
        ...chain.readEnd(),
      }))
      const grown = chains.filter(
        ({ name, next, head }) => next > 0 && this.#sentHeads.get(name) !== head,
      )
      if (grown.length === 0) return
      const at = this.#parts.now()
      const { generation } = this.#parts.ledger
      const lines = grown.map(({ name, next, head }) =>
        this.#signer.sign({ generation, chain: name, count: next, head, at }),
      )
      const { sendCheckpoint } = await import('./send-checkpoint.ts')
      await sendCheckpoint(this.#settings.to, lines, this.#parts.egress())
      for (const { name, head } of grown) this.#sentHeads.set(name, head)
    } catch (error) {
      this.#parts.onError(
        new Error('A checkpoint of the audit could not be sent; the next one covers it', {
          cause: error,
        }),
      )
    }
  }
}

/** A URL that is refused whatever its host resolves to. */
export function diagnoseCheckpoints(
  settings: CheckpointSettings | undefined,
  egress: Egress,
): Diagnostic[] {
  if (!settings || !('url' in settings.to)) return []
  const { verdict, why } = egress.preview(settings.to.url)
  const message = `Checkpoints of the audit cannot be sent: ${why}. Correct the URL or policy.egress.`
  const pointer = '/audit/checkpoints/to/url'
  return verdict === 'refused'
    ? [{ code: 'egress_refused', severity: 'error', message, source: 'configuration', pointer }]
    : []
}
