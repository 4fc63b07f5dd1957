/** `npm run soak` asks for everything; `npm test` takes a sample of it, because people wait for it. */
export const isSoak = process.env.SOAK !== undefined

export const amount = (everyday: number, soak: number): number => (isSoak ? soak : everyday)

/**
 * The upper bound of a measurement, in whatever unit: as it is in a soak, which has a quiet machine;
 * elsewhere only what hangs, or grows with the square of its input, is beyond it.
 */
export const atMost = (bound: number): number => amount(bound * 20, bound)
