import { isDeepStrictEqual } from 'node:util'
import { documentedDifferences } from './documented-differences.ts'
import { normalise, type Reply, type ReplyMessage } from './reply.ts'

/** One message, and what both servers replied. */
export interface Exchange {
  readonly transport: 'HTTP' | 'stdio'
  readonly era: 'modern' | 'legacy'
  /** The message, or the whole request. */
  readonly sent: string
  readonly ours: Reply
  readonly sdk: Reply
}

/** The result of comparing many exchanges. */
export class Comparison {
  compared = 0
  /** Equal replies that hold a result. */
  equalResults = 0
  readonly #faults = new Map<string, { times: number; sent: string; ours: string; sdk: string }>()

  /** Per kind of undocumented difference: its number, and the shortest exchange that shows it. */
  get faults(): string[] {
    return [...this.#faults.values()].map(
      ({ times, sent, ours, sdk }) =>
        `${times} times, for example\n  sent ${sent.slice(0, 1500)}\n  ours ${ours.slice(0, 600)}\n  SDK  ${sdk.slice(0, 600)}`,
    )
  }

  add(exchange: Exchange): void {
    this.compared++
    const [ours, sdk] = [normalise(exchange.ours), normalise(exchange.sdk)]
    for (const pair of toPairs(ours, sdk)) {
      if (isDeepStrictEqual(pair.ours, pair.sdk)) {
        if (pair.ours.messages.some(({ result }) => result)) this.equalResults++
        continue
      }
      const one = { ...exchange, ...pair }
      const difference = documentedDifferences.find(({ explains }) => explains(one))
      if (difference) usedDifferences.add(difference.name)
      else this.#fault(one)
    }
  }

  #fault({ transport, era, sent, ours, sdk }: Exchange): void {
    const kind = [transport, era, toKind(ours), toKind(sdk)].join(' | ')
    const previous = this.#faults.get(kind)
    const times = (previous?.times ?? 0) + 1
    const [ourText, sdkText] = [JSON.stringify(ours), JSON.stringify(sdk)]
    const fault =
      previous && previous.sent.length <= sent.length
        ? previous
        : { sent: `${transport} ${era} ${sent}`, ours: ourText, sdk: sdkText }
    this.#faults.set(kind, { ...fault, times })
  }
}

/** The names of the differences that explained something. */
export const usedDifferences = new Set<string>()

/** The answers to a batch are compared one by one. */
function toPairs(ours: Reply, sdk: Reply): Pick<Exchange, 'ours' | 'sdk'>[] {
  const count = ours.messages.length
  const isBatch = count > 1 && count === sdk.messages.length && hasSameIds(ours, sdk)
  if (!isBatch) return [{ ours, sdk }]
  return ours.messages.map((message, index) => ({
    ours: { ...ours, messages: [message] },
    sdk: { ...sdk, messages: [sdk.messages[index] as ReplyMessage] },
  }))
}

const hasSameIds = (ours: Reply, sdk: Reply): boolean =>
  ours.messages.every(({ id }, index) => isDeepStrictEqual(id, sdk.messages[index]?.id))

const toKind = ({ status, messages }: Reply): string =>
  `${status} ${messages
    .map(({ error, method }) =>
      error ? `${error.code} ${String(error.message).slice(0, 40)}` : (method ?? 'result'),
    )
    .join(', ')}`
