/** Results of a fuzz run: counts, and per kind of fault the number and the shortest input. */
export class Verdict {
  answered = 0
  /** Answers from a handler: a result or a tool error. */
  handled = 0
  /** Number of answers per error code. */
  readonly #codes = new Map<number, number>()
  readonly #faults = new Map<string, Fault>()

  get faults(): string[] {
    return [...this.#faults].map(
      ([kind, { times, sent, got }]) =>
        `${times} times ${kind}, for example\n  sent ${sent.slice(0, 1000)}\n  got  ${got.slice(0, 400)}`,
    )
  }

  fault(kind: string, sent: string, got = ''): void {
    const previous = this.#faults.get(kind)
    const times = (previous?.times ?? 0) + 1
    const isShorter = previous === undefined || sent.length < previous.sent.length
    this.#faults.set(kind, isShorter ? { times, sent, got } : { ...previous, times })
  }

  /** Checks one message and returns the fault, if any. */
  judge(message: unknown): string | undefined {
    if (!isRecord(message) || message.jsonrpc !== '2.0') return 'no JSON-RPC'
    if (isRecord(message.result)) {
      this.handled++
      return 'error' in message || !('id' in message) ? 'no proper result' : undefined
    }
    if (typeof message.method === 'string') return undefined
    if (!isRecord(message.error) || typeof message.error.code !== 'number') return 'no answer'
    const { code, message: text } = message.error
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1)
    if (typeof text !== 'string') return 'an error without words'
    return code === -32603 ? `-32603 ${toKind(text)}` : undefined
  }

  summary(): string {
    const codes = [...this.#codes].sort().map(([code, times]) => `${times} times ${code}`)
    const share = Math.round((100 * this.handled) / this.answered)
    return `${this.answered} answered, ${share} % by a handler; ${codes.join(', ')}`
  }
}

/** Removes the parts that differ between messages of one kind. */
const toKind = (text: string): string =>
  text
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
