import { describe, expect, test } from 'vitest'
import { type Service, type ServiceOptions, serviceSource } from '../../src/index.ts'
import { anAction, aService } from '../support/a-service.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { aWhile } from '../support/eventually.ts'
import { serveHere } from '../support/serve-here.ts'
import { aWatcher } from '../support/watching-clients.ts'

const overHttp = clientKinds.filter((clientKind) => clientKind.endsWith('HTTP'))
const heal = { heal: anAction({ description: 'Heals.' }) }

const serve = (service: Service, options: ServiceOptions = {}, mounts = {}) =>
  serveHere({ sources: [serviceSource(service, { id: 'game', ...options })], mounts })

describe.each(overHttp)('%s', (clientKind) => {
  test('actions of linked services are served with the link name as prefix, and calls are routed to them [S8, S31, S32, S35, S36, S45]', async () => {
    const grandchild = aService({ actions: heal, states: { hp: { schema: {}, value: 7 } } })
    const child = aService({ actions: heal, links: { pet: grandchild.service } })
    const root = aService({ actions: heal, links: { child: child.service } })
    const { url } = await serve(root.service)
    const client = await aWatcher(clientKind, { url, what: '' })

    expect(await client.names()).toEqual(['child_heal', 'child_pet_heal', 'get_state', 'heal'])
    await client.call('child_pet_heal')
    await client.call('child_heal')

    expect([root, child, grandchild].map(({ executed }) => executed)).toEqual([
      [],
      [{ action: 'heal', input: {} }],
      [{ action: 'heal', input: {} }],
    ])
    expect(await client.read('drawbridge://game/state/child/pet/hp')).toBe(7)
    expect((await client.call('get_state')).structuredContent).toEqual({ 'child.pet.hp': 7 })
  })

  test('links can be added and removed at run time, and removed ones are unsubscribed', async () => {
    const child = aService({ actions: heal, states: { hp: { schema: {}, value: 7 } } })
    const root = aService({ links: {} })
    const { url } = await serve(root.service)
    const client = await aWatcher(clientKind, { url, what: '' })
    await client.watch()

    root.links.set({ child: child.service })
    await expect.poll(() => client.notifications.toSorted()).toEqual(['resources', 'tools'])
    expect(child.actions.watchers).toBe(1)
    expect(await client.names()).toEqual(['child_heal', 'get_state'])
    child.actions.set({})
    expect(await client.names()).toEqual(['get_state'])
    child.actions.set(heal)
    root.links.set({})
    const withdrawnCall = await client.call('child_heal')

    expect(withdrawnCall._meta?.['dev.drawbridge/failure']).toMatchObject({
      code: 'action_withdrawn',
    })
    expect(child.executed).toEqual([])
    expect([child.actions, child.states, child.links].map(({ watchers }) => watchers)).toEqual([
      0, 0, 0,
    ])
    await aWhile(150)
    child.actions.set({})
    expect(await client.resources()).toEqual([])
  })

  test('with links: out-of-band, links are only listed [S33]', async () => {
    const child = aService({ actions: heal })
    const root = aService({
      actions: heal,
      links: { child: { ...child.service, serviceName: 'a child' } },
    })
    const { url } = await serve(root.service, { links: 'out-of-band' })
    const client = await aWatcher(clientKind, { url, what: '' })

    expect(await client.names()).toEqual(['heal', 'list_links'])
    expect((await client.call('list_links')).structuredContent).toEqual({
      links: [{ name: 'child', uri: 'drawbridge://game/link/child', service: 'a child' }],
    })
    root.links.set({})
    expect((await client.call('list_links')).structuredContent).toEqual({ links: [] })
    expect(child.actions.watchers).toBe(0)
  })
})

test('names: literal keeps the dot between link and action', async () => {
  const child = aService({ actions: heal })
  const root = aService({ links: { child: child.service } })
  const { bridge } = await serve(root.service, {}, { '/mcp': { names: 'literal' } })

  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['child.heal'])
  expect(bridge.diagnostics).toEqual([])
})

test('joining link and action names gives no warning; colliding names are both omitted', async () => {
  const [a, ab] = [
    aService({ actions: { b_c: anAction() } }),
    aService({ actions: { c: anAction() } }),
  ]
  const root = aService({ actions: heal, links: { a: a.service, a_b: ab.service } })
  const { bridge } = await serve(root.service)

  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['heal'])
  expect(bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
    'name_collision /links/a/actions/b_c',
    'name_collision /links/a_b/actions/c',
  ])
})

test('a link cycle is followed once, depth is limited, and both give a diagnostic', async () => {
  const parent = aService({ actions: heal, links: {} })
  const child = aService({ actions: heal, links: { parent: parent.service } })
  parent.links.set({ child: child.service, self: parent.service })
  const anEndlessChain = (depth: number): Service => {
    const { service } = aService({ actions: heal })
    const links: NonNullable<Service['links']> = (notify) => {
      notify({ next: anEndlessChain(depth + 1) })
      return () => {}
    }
    return { ...service, links }
  }
  const cycle = await serve(parent.service)
  const chain = await serve(anEndlessChain(0), { depth: 2 })

  expect((await cycle.bridge.list()).tools.map(({ name }) => name)).toEqual(['child_heal', 'heal'])
  expect(cycle.bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
    'link_cycle /links/self',
    'link_cycle /links/child/links/parent',
  ])
  expect((await chain.bridge.list()).tools.map(({ name }) => name)).toEqual([
    'heal',
    'next_heal',
    'next_next_heal',
  ])
  expect(chain.bridge.diagnostics).toMatchObject([
    { code: 'link_too_deep', pointer: '/links/next/links/next/links/next' },
  ])
})

test('a later link that never emits does not delay other changes', async () => {
  const root = aService({ actions: heal, links: {} })
  const { bridge } = await serve(root.service)
  const names = async () => (await bridge.list()).tools.map(({ name }) => name)

  root.links.set({ silent: { actions: () => () => {} } })
  root.actions.set({ ...heal, rest: anAction() })

  expect(await names()).toEqual(['heal', 'rest'])
  expect(bridge.diagnostics).toMatchObject([
    { code: 'service_silent', pointer: '/links/silent/actions' },
  ])
})

test('failing links do not affect the other services', async () => {
  const healthyChild = aService({ actions: heal })
  const failingService: Service = {
    actions: () => {
      throw new Error('no power')
    },
  }
  const silentService: Service = { actions: () => () => {} }
  const root = aService({
    actions: heal,
    links: {
      broken: failingService,
      good: healthyChild.service,
      none: 7 as never,
      silent: silentService,
    },
  })
  const { bridge } = await serve(root.service, { readiness: 50 })

  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['good_heal', 'heal'])
  expect(bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`).sort()).toEqual([
    'link_unusable /links/none',
    'observe_failed /links/broken/actions',
    'service_silent /links/silent/actions',
  ])
})
