/** How much one turn looks at. Whoever needs more comes again, and others have their turn in between. */
export interface ReadBounds {
  /** Rows along an index, when not all of them will fit. */
  readonly walked: number
  /** Records that have the words, when not all of them will fit. */
  readonly matched: number
  /** Changes, of each kind. */
  readonly changed: number
  /** Rows that are counted one by one. */
  readonly counted: number
  /** The same where there may be as many groups. */
  readonly grouped: number
  /** Bytes of those rows, and what the last of them has beyond. */
  readonly passed: number
  /** Granted records that are looked up one by one; with more of them, all there are is walked along. */
  readonly keys: number
  /** Bytes of a record that is read together with others, whatever they are. */
  readonly body: number
  /** Bytes of longer ones together, though a single one is always read. */
  readonly bodies: number
}

export const defaultReadBounds: ReadBounds = {
  walked: 1000,
  matched: 3000,
  changed: 400,
  counted: 2000,
  grouped: 1000,
  passed: 4 * 1024 * 1024,
  keys: 500,
  body: 4 * 1024,
  bodies: 256 * 1024,
}
