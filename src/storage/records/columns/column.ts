import type { Comparable } from '../../../sources/records/model/stream.ts'

/** One field of the records of a segment, in order of arrival. */
export type Column =
  | { readonly kind: 'numbers'; readonly values: Float64Array }
  | { readonly kind: 'texts'; readonly codes: Uint16Array; readonly texts: readonly string[] }

/** Records per segment. */
export const segmentLength = 4096

/** Numbers, times and booleans are doubles; NaN is a missing value. */
export const encodeNumbers = (values: readonly (number | null)[]): Uint8Array =>
  new Uint8Array(Float64Array.from(values, (value) => value ?? Number.NaN).buffer)

/**
 * Dictionary encoding: the number of values (uint32, little-endian), a uint16 code per value, then the
 * distinct texts as a JSON array. Code 0 is a missing value, code 1 the first text.
 */
export function encodeTexts(values: readonly (string | null)[]): Uint8Array {
  const codeByText = new Map<string, number>()
  const codes = Uint16Array.from(values, (value) => {
    if (value === null) return 0
    const code = codeByText.get(value)
    if (code !== undefined) return code
    codeByText.set(value, codeByText.size + 1)
    return codeByText.size
  })
  const texts = Buffer.from(JSON.stringify([...codeByText.keys()]))
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

/** Decodes a column into plain values, to rewrite some of them. */
export function toValues(column: Column): (Comparable | null)[] {
  if (column.kind === 'numbers')
    return Array.from(column.values, (value) => (Number.isNaN(value) ? null : value))
  const { codes, texts } = column
  return Array.from(codes, (code) => texts[code - 1] ?? null)
}
