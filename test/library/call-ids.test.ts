import { expect, test } from 'vitest'
import { createNewId } from '../../src/runtime/new-id.ts'

test('ids are UUIDs of version 7 in the order of their time, also within one millisecond never the same', () => {
  let now = 1_795_000_000_000
  const newId = createNewId(() => now)

  const ids = Array.from({ length: 300 }, (_, index) => {
    now += index % 3 === 0 ? 1 : 0
    return { id: newId(), time: now }
  })

  for (const { id, time } of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(time)
  }
  expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length)
})
