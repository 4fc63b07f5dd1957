import { expect, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { readOnly } from '../../src/capability/effects.ts'
import { done } from '../../src/capability/outcome.ts'
import { type RetryOptions, withRetries } from '../../src/sources/manifest/invoke/retry.ts'
import {
  upstreamBusy,
  upstreamInvalid,
  upstreamRefused,
  upstreamUnavailable,
} from '../../src/upstream/failures.ts'
import { toOutcome } from '../../src/upstream/to-outcome.ts'
import type { Reached, UpstreamAnswer } from '../../src/upstream/upstream.ts'

const success: UpstreamAnswer = { outcome: done(1), reached: 'yes' }
const aFailure = (reached: Reached): UpstreamAnswer => ({
  outcome: upstreamUnavailable('reset'),
  reached,
})

/** Runs `withRetries` against these answers in order and records the attempts and the delays. */
async function runWithRetries(
  answers: readonly UpstreamAnswer[],
  options: Partial<RetryOptions> = {},
) {
  const delaysMs: number[] = []
  let attempts = 0
  const answer = await withRetries(async () => answers[attempts++] ?? success, {
    retries: 3,
    repeatable: true,
    cancellation: new Cancellation(),
    delay: async (milliseconds) => {
      delaysMs.push(milliseconds)
    },
    admitRetry: () => 0,
    ...options,
  })
  return { answer, attempts, delaysMs }
}

test('retryable failures are retried with exponential backoff', async () => {
  const { answer, delaysMs } = await runWithRetries([
    aFailure('maybe'),
    aFailure('maybe'),
    aFailure('no'),
  ])

  expect(answer).toBe(success)
  expect(delaysMs).toEqual([200, 400, 800])
})

test('the last answer is returned when the retries are exhausted', async () => {
  const { answer, attempts } = await runWithRetries(
    [1, 2, 3, 4, 5].map(() => aFailure('maybe')),
    { retries: 2 },
  )

  expect(answer).toEqual(aFailure('maybe'))
  expect(attempts).toBe(3)
})

test('a call that is not repeatable is retried only if the request was certainly not received', async () => {
  expect(await runWithRetries([aFailure('maybe')], { repeatable: false })).toMatchObject({
    attempts: 1,
  })
  expect(
    await runWithRetries([{ outcome: upstreamBusy(1), reached: 'yes' }], { repeatable: false }),
  ).toMatchObject({
    attempts: 1,
  })
  expect(await runWithRetries([aFailure('no')], { repeatable: false })).toMatchObject({
    attempts: 2,
    answer: success,
  })
})

test.each([
  ['a refusal', { outcome: upstreamRefused('No.'), reached: 'yes' }],
  ['an invalid answer', { outcome: upstreamInvalid('HTML'), reached: 'maybe' }],
  ['a good answer', success],
] as const)('%s is not retried', async (_, answer) => {
  expect(await runWithRetries([answer])).toMatchObject({ attempts: 1, answer })
})

test('a busy agent is retried after its Retry-After, but not if that is too long', async () => {
  expect(await runWithRetries([{ outcome: upstreamBusy(5000), reached: 'yes' }])).toMatchObject({
    delaysMs: [5000],
  })
  expect(
    await runWithRetries([{ outcome: upstreamBusy(3_600_000), reached: 'yes' }]),
  ).toMatchObject({
    attempts: 1,
  })
})

test('a cancelled call is not retried', async () => {
  const cancellation = new Cancellation()
  const delay = async () => cancellation.cancel('The client left.')

  expect(await runWithRetries([aFailure('no')], { cancellation, delay })).toMatchObject({
    attempts: 1,
  })
  expect(await runWithRetries([aFailure('no')], { cancellation })).toMatchObject({
    attempts: 1,
    delaysMs: [],
  })
})

test('a write without a certain answer has the failure outcome_unknown', () => {
  const writes = { ...readOnly, writes: true }

  expect(toOutcome(aFailure('maybe'), writes)).toMatchObject({
    failure: { code: 'outcome_unknown', fixedBy: 'model', retryable: false, cause: 'reset' },
  })
  expect(toOutcome(aFailure('no'), writes)).toEqual(aFailure('no').outcome)
  expect(toOutcome(aFailure('maybe'), readOnly)).toEqual(aFailure('maybe').outcome)
  expect(toOutcome(success, writes)).toBe(success.outcome)
})
