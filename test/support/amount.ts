/** `npm run soak` runs all cases; `npm test` runs a sample, to stay fast. */
export const isSoak = process.env.SOAK !== undefined

export const amount = (everyday: number, soak: number): number => (isSoak ? soak : everyday)

/**
 * The upper bound of a measurement in any unit. Exact in a soak, which has an idle machine; elsewhere
 * ten times as large, so that only hangs and quadratic growth exceed it.
 */
export const atMost = (bound: number): number => amount(bound * 10, bound)
