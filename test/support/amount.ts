/** `npm run soak` asks for everything; `npm test` takes a sample of it, because people wait for it. */
const isSoak = process.env.SOAK !== undefined

export const amount = (everyday: number, soak: number): number => (isSoak ? soak : everyday)
