import { expect, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { readOnly } from '../../src/capability/effects.ts'
import { done } from '../../src/capability/outcome.ts'
import { type RetryOptions, withRetries } from '../../src/sources/manifest/invoke/retry.ts'
import { toOutcome } from '../../src/sources/manifest/to-outcome.ts'
import {
  upstreamBusy,
  upstreamInvalid,
  upstreamRefused,
  upstreamUnavailable,
} from '../../src/upstream/failures.ts'
import type { Reached, UpstreamAnswer } from '../../src/upstream/upstream.ts'

const good: UpstreamAnswer = { outcome: done(1), reached: 'yes' }
const lost = (reached: Reached): UpstreamAnswer => ({
  outcome: upstreamUnavailable('reset'),
  reached,
})

/** Gives these answers in turn, and says how long was waited before each. */
async function tries(answers: readonly UpstreamAnswer[], options: Partial<RetryOptions> = {}) {
  const waits: number[] = []
  let made = 0
  const answer = await withRetries(async () => answers[made++] ?? good, {
    retries: 3,
    repeatable: true,
    cancellation: new Cancellation(),
    delay: async (milliseconds) => {
      waits.push(milliseconds)
    },
    ...options,
  })
  return { answer, made, waits }
}

test('what may work another time is tried again, each time after a longer wait', async () => {
  const { answer, waits } = await tries([lost('maybe'), lost('maybe'), lost('no')])

  expect(answer).toBe(good)
  expect(waits).toEqual([200, 400, 800])
})

test('after so many retries the last answer stands', async () => {
  const { answer, made } = await tries(
    [1, 2, 3, 4, 5].map(() => lost('maybe')),
    { retries: 2 },
  )

  expect(answer).toEqual(lost('maybe'))
  expect(made).toBe(3)
})

test('what is not safe to repeat is repeated only when nothing can have arrived', async () => {
  expect(await tries([lost('maybe')], { repeatable: false })).toMatchObject({ made: 1 })
  expect(
    await tries([{ outcome: upstreamBusy(1), reached: 'yes' }], { repeatable: false }),
  ).toMatchObject({
    made: 1,
  })
  expect(await tries([lost('no')], { repeatable: false })).toMatchObject({ made: 2, answer: good })
})

test.each([
  ['a refusal', { outcome: upstreamRefused('No.'), reached: 'yes' }],
  ['nonsense', { outcome: upstreamInvalid('HTML'), reached: 'maybe' }],
  ['a good answer', good],
] as const)('%s is not asked for twice', async (_, answer) => {
  expect(await tries([answer])).toMatchObject({ made: 1, answer })
})

test('a busy agent is left alone for as long as it asks, unless that is too long', async () => {
  expect(await tries([{ outcome: upstreamBusy(5000), reached: 'yes' }])).toMatchObject({
    waits: [5000],
  })
  expect(await tries([{ outcome: upstreamBusy(3_600_000), reached: 'yes' }])).toMatchObject({
    made: 1,
  })
})

test('nothing is tried after the call was cancelled', async () => {
  const cancellation = new Cancellation()
  const delay = async () => cancellation.cancel('The client left.')

  expect(await tries([lost('no')], { cancellation, delay })).toMatchObject({ made: 1 })
  expect(await tries([lost('no')], { cancellation })).toMatchObject({ made: 1, waits: [] })
})

test('what writes and gave no certain answer is not called failed', () => {
  const writes = { ...readOnly, writes: true }

  expect(toOutcome(lost('maybe'), writes)).toMatchObject({
    failure: { code: 'outcome_unknown', fixedBy: 'model', retryable: false, cause: 'reset' },
  })
  expect(toOutcome(lost('no'), writes)).toEqual(lost('no').outcome)
  expect(toOutcome(lost('maybe'), readOnly)).toEqual(lost('maybe').outcome)
  expect(toOutcome(good, writes)).toBe(good.outcome)
})
