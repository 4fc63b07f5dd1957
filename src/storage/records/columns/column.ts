import type { Comparable } from '../../../sources/records/model/stream.ts'

/** One field of the records of a segment, in the order of their arrival. Nothing else is in it. */
export type Column =
  | { readonly kind: 'numbers'; readonly values: Float64Array }
  | { readonly kind: 'texts'; readonly codes: Uint16Array; readonly texts: readonly string[] }

/** Records of a segment. */
export const segmentLength = 4096

/**
 * Numbers, times and booleans as they are, and what is missing as NaN. Texts as numbers of a list that
 * comes after them; 0 is what is missing.
 */
export const encodeNumbers = (values: readonly (number | null)[]): Uint8Array =>
  new Uint8Array(Float64Array.from(values, (value) => value ?? Number.NaN).buffer)

export function encodeTexts(values: readonly (string | null)[]): Uint8Array {
  const numbers = new Map<string, number>()
  const codes = Uint16Array.from(values, (value) => {
    if (value === null) return 0
    const known = numbers.get(value)
    if (known !== undefined) return known
    numbers.set(value, numbers.size + 1)
    return numbers.size
  })
  const texts = Buffer.from(JSON.stringify([...numbers.keys()]))
  const bytes = new Uint8Array(4 + codes.byteLength + texts.length)
  new DataView(bytes.buffer).setUint32(0, codes.length, true)
  bytes.set(new Uint8Array(codes.buffer), 4)
  bytes.set(texts, 4 + codes.byteLength)
  return bytes
}

export const decodeNumbers = (bytes: ArrayBuffer): Column => ({
  kind: 'numbers',
  values: new Float64Array(bytes),
})

export function decodeTexts(bytes: ArrayBuffer): Extract<Column, { kind: 'texts' }> {
  const length = new DataView(bytes).getUint32(0, true)
  return {
    kind: 'texts',
    codes: new Uint16Array(bytes.slice(4, 4 + 2 * length)),
    texts: JSON.parse(Buffer.from(bytes, 4 + 2 * length).toString()),
  }
}

/** The values themselves, for those who change some of them. */
export function toValues(column: Column): (Comparable | null)[] {
  if (column.kind === 'numbers')
    return Array.from(column.values, (value) => (Number.isNaN(value) ? null : value))
  const { codes, texts } = column
  return Array.from(codes, (code) => texts[code - 1] ?? null)
}
