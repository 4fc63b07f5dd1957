import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aContract } from '../support/builders.ts'

const shownOf = (a: z.ZodType) =>
  (aContract(z.object({ a })).schema.properties as Record<string, unknown>).a

describe('a format that is only a name in Zod', () => {
  test.each([
    ['includes', z.string().includes('y')],
    ['startsWith', z.string().startsWith('y')],
    ['lowercase', z.string().lowercase()],
    ['emoji', z.emoji()],
    ['nanoid', z.nanoid()],
    ['sha256', z.hash('sha256')],
    ['cidrv4', z.cidrv4()],
  ])('is left out, and its pattern is shown: %s', (_, schema) => {
    expect(shownOf(schema)).toEqual({ type: 'string', pattern: expect.any(String) })
  })

  test('of JSON Schema is shown without its pattern', () => {
    expect(shownOf(z.uuid())).toEqual({ type: 'string', format: 'uuid' })
    expect(shownOf(z.email())).toEqual({ type: 'string', format: 'email' })
  })

  test('of the author is shown', () => {
    expect(shownOf(z.string().regex(/^\+/).meta({ format: 'phone' }))).toEqual({
      type: 'string',
      pattern: '^\\+',
      format: 'phone',
    })
  })
})

test('a read-only input is shown like any other: some hosts leave out what is marked', () => {
  expect(shownOf(z.string().readonly())).toEqual({ type: 'string' })
  expect(shownOf(z.string().meta({ readOnly: true }))).toEqual({ type: 'string', readOnly: true })
})
