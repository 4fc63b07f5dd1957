const slowMs = 8
const fastMs = 2
const minRows = 16
const initialRows = 64

/**
 * Adapts the rows of one slice to the time a slice takes: fewer for sources with long texts. It changes
 * the number of slices, not what they find.
 */
export class AdaptiveBatch {
  readonly #now: () => number
  readonly #rowsBySource = new Map<number, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  run<T>(source: number, maxRows: number, work: (rows: number) => T): T {
    const rows = Math.min(maxRows, this.#rowsBySource.get(source) ?? initialRows)
    const startedAt = this.#now()
    const result = work(rows)
    const tookMs = this.#now() - startedAt
    if (tookMs >= slowMs) this.#rowsBySource.set(source, Math.max(minRows, Math.floor(rows / 4)))
    else if (tookMs <= fastMs) this.#rowsBySource.set(source, 2 * rows)
    return result
  }
}
