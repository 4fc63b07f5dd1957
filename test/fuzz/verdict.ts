/** What a run has shown, and of every kind of wrong answer how often and the shortest cause. */
export class Verdict {
  answered = 0
  /** Answers that a handler gave: a result, or a tool's error. */
  handled = 0
  /** How often each error code was the answer. */
  readonly #codes = new Map<number, number>()
  readonly #faults = new Map<string, Fault>()

  get faults(): string[] {
    return [...this.#faults].map(
      ([kind, { times, sent, got }]) =>
        `${times} times ${kind}, for example\n  sent ${sent.slice(0, 1000)}\n  got  ${got.slice(0, 400)}`,
    )
  }

  fault(kind: string, sent: string, got = ''): void {
    const former = this.#faults.get(kind)
    const times = (former?.times ?? 0) + 1
    const shorter = former === undefined || sent.length < former.sent.length
    this.#faults.set(kind, shorter ? { times, sent, got } : { ...former, times })
  }

  /** Looks at one message that came back; says what is wrong with it. */
  judge(message: unknown): string | undefined {
    if (!isRecord(message) || message.jsonrpc !== '2.0') return 'no JSON-RPC'
    if (isRecord(message.result)) {
      this.handled++
      return 'error' in message || !('id' in message) ? 'no proper result' : undefined
    }
    if (typeof message.method === 'string') return undefined
    if (!isRecord(message.error) || typeof message.error.code !== 'number') return 'no answer'
    const { code, message: words } = message.error
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1)
    if (typeof words !== 'string') return 'an error without words'
    return code === -32603 ? `-32603 ${toKind(words)}` : undefined
  }

  summary(): string {
    const codes = [...this.#codes].sort().map(([code, times]) => `${times} times ${code}`)
    const share = Math.round((100 * this.handled) / this.answered)
    return `${this.answered} answered, ${share} % by a handler; ${codes.join(', ')}`
  }
}

/** Without what differs from one answer of a kind to the next. */
const toKind = (words: string): string =>
  words
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[0-9a-f-]{36}/g, '…')
    .slice(0, 60)

interface Fault {
  readonly times: number
  readonly sent: string
  readonly got: string
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
