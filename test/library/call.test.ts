import { expect, test } from 'vitest'
import { createDrawbridge, defineTool, definitionSource, RpcError, z } from '../../src/index.ts'

const aBridge = (execute: () => unknown = () => 'done') => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    category: 'write',
    idempotencyKey: true,
    schema: z.object({ order: z.string() }),
    execute,
  })
  return createDrawbridge({ sources: [definitionSource([pay])] })
}

test('calls with the same idempotencyKey run once; without one they are refused', async () => {
  let runs = 0
  const bridge = aBridge(() => ++runs)
  const input = { order: 'A-1' }

  const first = await bridge.call('pay', input, { idempotencyKey: 'k1' })
  const second = await bridge.call('pay', input, { idempotencyKey: 'k1' })
  const refused = await bridge.call('pay', input)

  expect(runs).toBe(1)
  expect(second.content).toEqual(first.content)
  expect(second._meta).toHaveProperty(['dev.drawbridge/replayed'])
  expect(refused._meta?.['dev.drawbridge/failure']).toMatchObject({
    code: 'idempotency_key_required',
  })
  await bridge.close()
})

test('idempotencyKey replaces the key in meta and keeps its other entries', async () => {
  const bridge = aBridge()
  const input = { order: 'A-1' }
  const meta = { 'dev.drawbridge/idempotency-key': 'another' }
  const expectation = { 'dev.drawbridge/expect-fingerprint': 'outdated' }
  await bridge.call('pay', input, { idempotencyKey: 'k1' })

  const repeated = await bridge.call('pay', input, { meta, idempotencyKey: 'k1' })
  const explanations = await bridge.explain('pay', input, { meta, idempotencyKey: 'k1' })
  const outdated = await bridge.call('pay', input, { meta: expectation, idempotencyKey: 'k1' })

  expect(repeated._meta).toHaveProperty(['dev.drawbridge/replayed'])
  expect(explanations?.at(-1)).toMatchObject({ would: 'replay' })
  expect(outdated._meta?.['dev.drawbridge/failure']).toMatchObject({ code: 'definition_changed' })
  await bridge.close()
})

test('an unknown tool is an RpcError', async () => {
  const bridge = aBridge()

  const error = await bridge.call('pray').catch((thrown: unknown) => thrown)

  expect(error).toBeInstanceOf(RpcError)
  expect(error).toMatchObject({ code: -32602, message: 'Unknown tool: pray' })
  await bridge.close()
})

test('an onOperatorFailure that throws is reported, and the call keeps its failure', async () => {
  const reported: unknown[] = []
  const thrown = new Error('the pager is down')
  const broken = defineTool({
    name: 'broken',
    description: 'Returns something else than it declares.',
    category: 'read',
    schema: z.object({}),
    outputSchema: z.object({ total: z.number() }),
    execute: () => ({ total: 'many' }) as never,
  })
  const bridge = createDrawbridge({
    sources: [definitionSource([broken])],
    onOperatorFailure: () => {
      throw thrown
    },
    onOperationalError: (error) => reported.push(error),
  })

  const result = await bridge.call('broken', {})

  expect(result._meta?.['dev.drawbridge/failure']).toMatchObject({ code: 'invalid_output' })
  expect(reported).toEqual([thrown])
  await bridge.close()
})
