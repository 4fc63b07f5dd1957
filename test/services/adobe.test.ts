import { Observe } from '@adobe/data/observe'
import { AgenticService } from '@adobe/data/service'
import { Observe as Observe45 } from 'adobe-data-0-9-45/observe'
import { AgenticService as AgenticService45 } from 'adobe-data-0-9-45/service'
import { Observe as Observe56 } from 'adobe-data-0-9-56/observe'
import { AgenticService as AgenticService56 } from 'adobe-data-0-9-56/service'
import { describe, expect, test } from 'vitest'
import { type Service, serviceSource } from '../../src/index.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { serveHere } from '../support/serve-here.ts'
import { aWatcher } from '../support/watching-clients.ts'

const overHttp = clientKinds.filter((clientKind) => clientKind.endsWith('HTTP'))

/** The same game built with each published version. No casts: each is assignable to `Service`. */
const versions: Record<string, () => { service: Service; setHealth(health: number): void }> = {
  '0.9.45': () => {
    const [health, setHealth] = Observe45.createState(10)
    const pet = AgenticService45.create({
      interface: { feed: { type: 'action', description: 'Feeds it.', parameters: [] } },
      implementation: { feed: () => undefined },
    })
    const service: Service = AgenticService45.create({
      interface: {
        health: { type: 'state', schema: { type: 'number', title: 'Health' } },
        heal: {
          type: 'action',
          description: 'Heals.',
          parameters: [{ type: 'number', title: 'amount' }],
        },
        attack: { type: 'action', description: 'Attacks.', parameters: [] },
        pet: { type: 'link' },
      },
      implementation: {
        health,
        heal: async (amount: number) => (amount > 100 ? 'Too much' : setHealth(amount)),
        attack: async () => undefined,
        pet,
      },
      conditional: { attack: Observe45.withMap(health, (value) => value > 5) },
    })
    return { service, setHealth }
  },
  '0.9.56': () => {
    const [health, setHealth] = Observe56.createState(10)
    const pet = AgenticService56.create({
      interface: { feed: { type: 'action', description: 'Feeds it.', parameters: [] } },
      implementation: { feed: () => undefined },
    })
    const service: Service = AgenticService56.create({
      interface: {
        health: { type: 'state', schema: { type: 'number', title: 'Health' } },
        heal: {
          type: 'action',
          description: 'Heals.',
          parameters: [{ type: 'number', title: 'amount' }],
        },
        attack: { type: 'action', description: 'Attacks.', parameters: [] },
        pet: { type: 'link' },
      },
      implementation: {
        health,
        heal: async (amount: number) => (amount > 100 ? 'Too much' : setHealth(amount)),
        attack: async () => undefined,
        pet,
      },
      conditional: { attack: Observe56.withMap(health, (value) => value > 5) },
    })
    return { service, setHealth }
  },
  '0.10.1': () => {
    const [health, setHealth] = Observe.createState(10)
    const pet = AgenticService.create({
      interface: { feed: { type: 'action', description: 'Feeds it.', parameters: [] } },
      implementation: { feed: () => undefined },
    })
    const service: Service = AgenticService.create({
      interface: {
        health: { type: 'state', schema: { type: 'number', title: 'Health' } },
        heal: {
          type: 'action',
          description: 'Heals.',
          parameters: [{ type: 'number', title: 'amount' }],
        },
        attack: { type: 'action', description: 'Attacks.', parameters: [] },
        pet: { type: 'link' },
      },
      implementation: {
        health,
        heal: async (amount: number) => (amount > 100 ? 'Too much' : setHealth(amount)),
        attack: async () => undefined,
        pet,
      },
      conditional: { attack: Observe.withMap(health, (value) => value > 5) },
    })
    return { service, setHealth }
  },
}

describe.each(Object.entries(versions))('@adobe/data %s', (version, create) => {
  test.each(overHttp)(
    'a service created by the package is served without an adapter: %s [S40, S47, S48, S50]',
    async (clientKind) => {
      const { service, setHealth } = create()
      const { url, bridge } = await serveHere({ sources: [serviceSource(service, { id: 'game' })] })
      const client = await aWatcher(clientKind, { url, what: '' })
      const uri = 'drawbridge://game/state/health'
      await client.watch(uri)

      expect(bridge.diagnostics).toEqual([])
      expect(await client.tools()).toMatchObject([
        { name: 'attack', inputSchema: { type: 'object', additionalProperties: false } },
        { name: 'get_state' },
        {
          name: 'heal',
          description: 'Heals.',
          inputSchema: { properties: { amount: { type: 'number' } }, required: ['amount'] },
        },
        { name: 'pet_feed' },
      ])

      setHealth(3)
      await expect.poll(() => client.notifications.toSorted()).toEqual([uri, 'tools'])
      expect(await client.names()).toEqual(['get_state', 'heal', 'pet_feed'])
      expect(await client.read(uri)).toBe(3)

      await client.call('heal', { amount: 50 })
      expect(await client.read(uri)).toBe(50)
      expect(await client.names()).toContain('attack')

      // A string is an error in the older shape and may be data in the newer one.
      const answer = await client.call('heal', { amount: 500 })
      expect(answer.content).toEqual([{ type: 'text', text: 'Too much' }])
      expect(answer.isError ?? false).toBe(version === '0.9.45')
    },
  )
})

test('a conditional that never emits withholds all actions but does not block the server', async () => {
  const neverEmits: Observe<boolean> = () => () => {}
  const service = AgenticService.create({
    interface: {
      a: { type: 'action', description: 'A.', parameters: [] },
      b: { type: 'action', description: 'B.', parameters: [] },
      n: { type: 'state', schema: { type: 'number' } },
    },
    implementation: { a: () => undefined, b: () => undefined, n: Observe.fromConstant(1) },
    conditional: { b: neverEmits },
  })
  const { bridge } = await serveHere({
    sources: [serviceSource(service, { id: 'game', readiness: 50 })],
  })

  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['get_state'])
  expect(bridge.diagnostics).toMatchObject([{ code: 'service_silent', pointer: '/actions' }])
})

test('declares accepts the interface that the service was created from', async () => {
  const [isOpen, setOpen] = Observe.createState(false)
  const shape = {
    enter: { type: 'action', description: 'Enters.', parameters: [] },
    level: { type: 'state', schema: { type: 'number' } },
  } as const
  const service = AgenticService.create({
    interface: shape,
    implementation: { enter: () => undefined, level: Observe.fromConstant(1) },
    conditional: { enter: isOpen },
  })
  const { bridge } = await serveHere({
    sources: [serviceSource(service, { visibility: 'stable', declares: shape })],
  })

  const names = async () => (await bridge.list()).tools.map(({ name }) => name)
  expect(await names()).toEqual(['enter', 'get_state'])
  expect((await bridge.call('enter')).isError).toBe(true)
  setOpen(true)
  expect((await bridge.call('enter')).isError).toBe(false)
})
