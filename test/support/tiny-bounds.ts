import type { ReadBounds } from '../../src/storage/records/read-bounds.ts'

/** So little in a turn that everything takes several. */
export const tinyBounds: ReadBounds = {
  walked: 3,
  matched: 2,
  changed: 2,
  counted: 3,
  grouped: 2,
  passed: 100,
  keys: 4,
  body: 60,
  bodies: 150,
}
