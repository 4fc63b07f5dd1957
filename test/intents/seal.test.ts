import { createDecipheriv, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openV1, sealV1 } from '../../src/sources/intents/crypto/emcl-v1.ts'
import { openRequest, sealRequest } from '../../src/sources/intents/crypto/envelope-seal.ts'
import { toKeyRing } from '../../src/sources/intents/crypto/key-ring.ts'
import { ReplayCache } from '../../src/sources/intents/crypto/replay-cache.ts'
import {
  openMessage,
  type SealedMessage,
  type SealOptions,
  sealMessage,
} from '../../src/sources/intents/crypto/seal.ts'
import { aClock, minute } from '../support/a-clock.ts'
import { anEnvelope } from '../support/agents.ts'
import { amount } from '../support/amount.ts'

const key = 'k'.repeat(32)
const label = {
  intent: 'Pay 1.0',
  sender: 'shop',
  recipient: 'bank',
  direction: 'request',
  requestId: 'r1',
  identityChain: ['caller:ann'],
} as const

function setUp(clock = aClock()) {
  const options: SealOptions = {
    ring: toKeyRing({ k1: key, k2: 'other'.repeat(8) }),
    now: clock.now,
    randomBytes,
  }
  const message = sealMessage(
    options,
    'k1',
    { ...label, identityChain: ['caller:ann'] },
    { amount: 7 },
  )
  return { options, message, clock }
}

test('what was sealed is opened by whoever it was meant for', () => {
  const { options, message } = setUp()

  expect(openMessage(options, message, { direction: 'request', recipient: 'bank' })).toMatchObject({
    plain: { amount: 7 },
  })
  expect(JSON.stringify(message)).not.toContain('amount')
})

test('no byte of a sealed message can be changed', () => {
  const { options, message } = setUp()
  const text = JSON.stringify(message)
  const accepted: string[] = []
  for (let at = 0; at < text.length; at++)
    for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
      const changed = `${text.slice(0, at)}${String.fromCharCode(text.charCodeAt(at) ^ bit)}${text.slice(at + 1)}`
      let value: unknown
      try {
        value = JSON.parse(changed)
      } catch {
        continue
      }
      // Another spelling of the same message is the same message.
      if (JSON.stringify(value) === text) continue
      if ('plain' in openMessage(options, value, { direction: 'request' })) accepted.push(changed)
    }

  expect(accepted).toEqual([])
})

test.each([
  ['intent', 'Refund 1.0'],
  ['sender', 'thief'],
  ['recipient', 'thief'],
  ['direction', 'response'],
  ['requestId', 'r2'],
  ['kid', 'k2'],
  ['issuedAt', 1],
  ['expiresAt', 9e15],
  ['identityChain', ['caller:root']],
] as const)('its %s is bound to it', (name, value) => {
  const { options, message } = setUp()
  const forged = { ...message, [name]: value }

  expect(openMessage(options, forged, { direction: forged.direction })).toHaveProperty('fault')
})

test('it is good once, for a while, and for nobody who began later', () => {
  const { options, message, clock } = setUp()
  const replays = new ReplayCache(clock.now)
  const expected = { direction: 'request', replays } as const

  expect(openMessage(options, message, expected)).toHaveProperty('plain')
  expect(openMessage(options, message, expected)).toEqual({ fault: 'it is a replay' })
  expect(
    openMessage(options, message, { direction: 'request', since: clock.now() + minute }),
  ).toEqual({
    fault: 'it was issued before this process started',
  })
  clock.pass(2 * minute)
  expect(openMessage(options, message, { direction: 'request' })).toEqual({
    fault: 'it has expired',
  })
})

test('a key that was replaced still opens, and one that was removed does not', () => {
  const { options, message } = setUp()
  const without = { ...options, ring: toKeyRing({ k2: key }) }

  expect(openMessage(options, message, { direction: 'request' })).toHaveProperty('plain')
  expect(openMessage(without, message, { direction: 'request' })).toHaveProperty('fault')
})

const nonces = amount(4_000, 1_000_000)

test('no two messages have the same nonce', { timeout: 120_000 }, () => {
  const key = randomBytes(32)
  const seen = new Set<string>()
  for (let count = 0; count < nonces; count++) seen.add(sealV1({ randomBytes }, key, [], count).iv)

  expect(seen.size).toBe(nonces)
})

test('keys are 32 bytes or stretched, and never a short word', () => {
  const bytes = randomBytes(32)
  const ring = toKeyRing({
    text: key,
    hex: bytes.toString('hex'),
    base64: bytes.toString('base64'),
    long: 'a sentence that is much longer than thirty-two bytes',
  })

  expect(Buffer.from(ring.get('text') ?? [])).toEqual(Buffer.from(key))
  expect(ring.get('hex')).toEqual(bytes)
  expect(ring.get('base64')).toEqual(bytes)
  expect(ring.get('long')).toHaveLength(32)
  expect(() => toKeyRing({ short: 'password' })).toThrow(/8 bytes; it needs at least 32/)
})

test('the other side seals its answer to this very request', () => {
  const { options, clock } = setUp()
  const envelope = anEnvelope({ payload: { amount: 7 } })
  const choice = { format: 'v2', key: 'k1' } as const
  const asking = sealRequest(options, choice, envelope, { sender: 'shop', recipient: 'bank' })
  const other = sealRequest(options, choice, anEnvelope({ metadata: { requestId: 'r2' } }), {
    sender: 'shop',
    recipient: 'bank',
  })
  const reception = { node: 'bank', replays: new ReplayCache(clock.now), since: 0 }
  const body = asking.seal(envelope) as SealedMessage

  const opened = openRequest(options, choice, body, reception)
  if ('fault' in opened) throw new Error(opened.fault)
  const answer = opened.answer({ paid: true })

  expect(opened.plain).toEqual(envelope)
  expect(asking.open(answer)).toMatchObject({ plain: { paid: true } })
  expect(other.open(answer)).toHaveProperty('fault')
  expect(asking.open(body)).toHaveProperty('fault')
  expect(openRequest(options, choice, body, { ...reception, node: 'thief' })).toHaveProperty(
    'fault',
  )
})

test('the form of other runtimes is theirs to the byte', () => {
  const bytes = Buffer.from(key)
  const message = sealV1({ randomBytes }, bytes, ['proxy:n:a'], { q: 1 })

  const data = Buffer.from(message.cipherText, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', bytes, Buffer.from(message.iv, 'base64'))
  decipher.setAAD(Buffer.from('emcl-aes-gcm'))
  decipher.setAuthTag(data.subarray(-16))
  const plain = Buffer.concat([decipher.update(data.subarray(0, -16)), decipher.final()])

  expect(Object.keys(message)).toEqual(['cipherText', 'iv', 'tag', 'identityChain'])
  expect([plain.toString(), message.tag]).toEqual(['{"q":1}', ''])
  expect(openV1(bytes, message)).toEqual({ plain: { q: 1 } })
  expect(openV1(Buffer.from('x'.repeat(32)), message)).toHaveProperty('fault')
})

test.each([null, 7, 'text', [], {}])(
  'what was sealed and is no envelope is refused: %j',
  (plain) => {
    const { options } = setUp()
    const message = sealMessage(options, 'k1', { ...label, identityChain: [] }, plain)
    const reception = { node: 'bank', replays: new ReplayCache(options.now), since: 0 }

    expect(openRequest(options, { format: 'v2', key: 'k1' }, message, reception)).toHaveProperty(
      'fault',
    )
  },
)

test('many messages are remembered, and forgotten when they have expired', () => {
  const clock = aClock()
  const replays = new ReplayCache(clock.now)
  const ids = Array.from({ length: 200_000 }, (_, number) => `id ${number}`)

  expect(ids.every((id) => replays.admit(id, clock.now() + minute))).toBe(true)
  expect(replays.admit('id 0', clock.now() + minute)).toBe(false)
  clock.pass(2 * minute)
  expect(replays.admit('id 0', clock.now() + minute)).toBe(true)
})
