import { createDecipheriv, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { isFault } from '../../src/capability/fault.ts'
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

function aSealedMessage(clock = aClock()) {
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

test('a sealed message is opened by its recipient', () => {
  const { options, message } = aSealedMessage()

  expect(openMessage(options, message, { direction: 'request', recipient: 'bank' })).toMatchObject({
    plain: { amount: 7 },
  })
  expect(JSON.stringify(message)).not.toContain('amount')
})

test('a sealed message with any bit flipped is rejected', () => {
  const { options, message } = aSealedMessage()
  const text = JSON.stringify(message)
  const acceptedTexts: string[] = []
  for (let index = 0; index < text.length; index++)
    for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
      const mutation = `${text.slice(0, index)}${String.fromCharCode(text.charCodeAt(index) ^ bit)}${text.slice(index + 1)}`
      let value: unknown
      try {
        value = JSON.parse(mutation)
      } catch {
        continue
      }
      // A different spelling that parses to the same message is not a change.
      if (JSON.stringify(value) === text) continue
      if (!isFault(openMessage(options, value, { direction: 'request' })))
        acceptedTexts.push(mutation)
    }

  expect(acceptedTexts).toEqual([])
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
] as const)('the %s is authenticated', (name, value) => {
  const { options, message } = aSealedMessage()
  const forgery = { ...message, [name]: value }

  expect(openMessage(options, forgery, { direction: forgery.direction })).toHaveProperty('fault')
})

test('a message is rejected when replayed, expired or issued before the process started', () => {
  const { options, message, clock } = aSealedMessage()
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

test('a message still opens after key rotation, but not after its key is removed', () => {
  const { options, message } = aSealedMessage()
  const removedKey = { ...options, ring: toKeyRing({ k2: key }) }

  expect(openMessage(options, message, { direction: 'request' })).toHaveProperty('plain')
  expect(openMessage(removedKey, message, { direction: 'request' })).toHaveProperty('fault')
})

const nonceCount = amount(4_000, 1_000_000)

test('nonces are unique', { timeout: 120_000 }, () => {
  const key = randomBytes(32)
  const ivs = new Set<string>()
  for (let count = 0; count < nonceCount; count++)
    ivs.add(sealV1({ randomBytes }, key, [], count).iv)

  expect(ivs.size).toBe(nonceCount)
})

test('keys of 32 bytes are used as they are, longer ones are derived and shorter ones rejected', () => {
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

test('a response opens only for the request it answers', () => {
  const { options, clock } = aSealedMessage()
  const envelope = anEnvelope({ payload: { amount: 7 } })
  const choice = { format: 'v2', key: 'k1' } as const
  const request = sealRequest(options, choice, envelope, { sender: 'shop', recipient: 'bank' })
  const otherRequest = sealRequest(options, choice, anEnvelope({ metadata: { requestId: 'r2' } }), {
    sender: 'shop',
    recipient: 'bank',
  })
  const reception = { node: 'bank', replays: new ReplayCache(clock.now), since: 0 }
  const body = request.seal(envelope) as SealedMessage

  const message = openRequest(options, choice, body, reception)
  if (isFault(message)) throw new Error(message.fault)
  const answer = message.answer({ paid: true })

  expect(message.plain).toEqual(envelope)
  expect(request.open(answer)).toMatchObject({ plain: { paid: true } })
  expect(otherRequest.open(answer)).toHaveProperty('fault')
  expect(request.open(body)).toHaveProperty('fault')
  expect(openRequest(options, choice, body, { ...reception, node: 'thief' })).toHaveProperty(
    'fault',
  )
})

test('the v1 format matches other runtimes byte for byte', () => {
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
  'a sealed payload that is not an envelope is rejected: %j',
  (plain) => {
    const { options } = aSealedMessage()
    const message = sealMessage(options, 'k1', { ...label, identityChain: [] }, plain)
    const reception = { node: 'bank', replays: new ReplayCache(options.now), since: 0 }

    expect(openRequest(options, { format: 'v2', key: 'k1' }, message, reception)).toHaveProperty(
      'fault',
    )
  },
)

test('the replay cache holds many ids and drops expired ones', () => {
  const clock = aClock()
  const replays = new ReplayCache(clock.now)
  const ids = Array.from({ length: 200_000 }, (_, number) => `id ${number}`)

  expect(ids.every((id) => replays.admit(id, clock.now() + minute))).toBe(true)
  expect(replays.admit('id 0', clock.now() + minute)).toBe(false)
  clock.pass(2 * minute)
  expect(replays.admit('id 0', clock.now() + minute)).toBe(true)
})
