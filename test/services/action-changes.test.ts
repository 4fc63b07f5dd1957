import { describe, expect, test } from 'vitest'
import { serviceSource } from '../../src/index.ts'
import { type Actions, anAction, aService, ObservableValue } from '../support/a-service.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { aWhile } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { postModern } from '../support/modern-request.ts'
import { serveHere } from '../support/serve-here.ts'
import { aWatcher } from '../support/watching-clients.ts'

const overHttp = clientKinds.filter((clientKind) => clientKind.endsWith('HTTP'))
const waitForQuiet = () => aWhile(250)

describe.each(overHttp)('%s', (clientKind) => {
  async function serveAndWatch(actions: Actions, options = {}) {
    const parts = aService({ actions })
    const source = serviceSource(parts.service, { id: 'live', ...options })
    const server = await serveHere({ sources: [source] })
    const client = await aWatcher(clientKind, { url: server.url, what: '' })
    await client.watch()
    return { ...parts, ...server, client }
  }

  test('the tool list follows the service, and clients get list_changed [S12, S19, S37]', async () => {
    const { client, actions } = await serveAndWatch({ turn_on: anAction() })

    actions.set({ turn_off: anAction() })

    // The list changes immediately; the notification is debounced.
    expect(await client.names()).toEqual(['turn_off'])
    await expect.poll(() => client.notifications).toEqual(['tools'])
    await waitForQuiet()
    expect(client.notifications).toEqual(['tools'])
  })

  test('a burst of 1,000 changes sends one notification, and equal actions send none', async () => {
    const { client, actions } = await serveAndWatch({ a: anAction() })

    for (let index = 0; index < 1000; index++) actions.set({ [`a${index}`]: anAction() })
    await expect.poll(() => client.notifications).toEqual(['tools'])
    expect(await client.names()).toEqual(['a999'])
    for (let index = 0; index < 1000; index++) actions.set({ a999: anAction() })
    await waitForQuiet()

    expect(client.notifications).toEqual(['tools'])
  })

  test('a changed description or schema sends a notification', async () => {
    const { client, actions } = await serveAndWatch({ a: anAction() })

    actions.set({ a: anAction({ description: 'Other words.' }) })
    await expect.poll(() => client.notifications).toEqual(['tools'])
    await waitForQuiet()
    actions.set({ a: anAction({ description: 'Other words.', schema: { type: 'object' } }) })

    await expect.poll(() => client.notifications).toEqual(['tools', 'tools'])
  })

  test('a withdrawn action is not executed, and the failure lists the available actions', async () => {
    const { client, actions, executed } = await serveAndWatch({
      turn_on: anAction(),
      sing: anAction(),
    })
    await client.names()

    actions.set({ turn_off: anAction(), sing: anAction() })
    const lateCall = await client.call('turn_on', { whatever: 1 })

    expect(lateCall).toMatchObject({
      isError: true,
      _meta: {
        'dev.drawbridge/failure': {
          code: 'action_withdrawn',
          details: { available: ['sing', 'turn_off'] },
        },
      },
    })
    expect(lateCall.content[0]?.text).toContain('Available now: sing, turn_off.')
    expect(executed).toEqual([])
    await expect(client.call('never_known')).rejects.toMatchObject({ code: -32602 })
  })

  test('visibility: stable lists every declared action and gives the reason for an unavailable one', async () => {
    const { client, actions, executed } = await serveAndWatch(
      { turn_on: anAction() },
      {
        visibility: 'stable',
        declares: {
          turn_on: { type: 'action', description: 'Does something.', schema: false },
          turn_off: { type: 'action', description: 'Turns it off.', parameters: [] },
          lamp: { type: 'state' },
        },
        reason: (action: string) => (action === 'turn_off' ? 'it is off' : undefined),
      },
    )
    expect(await client.names()).toEqual(['turn_off', 'turn_on'])

    const turnOffResult = await client.call('turn_off')
    actions.set({
      turn_off: anAction({ description: 'Turns it off.', schema: undefined, parameters: [] }),
    })
    const turnOnResult = await client.call('turn_on')
    await waitForQuiet()

    expect(turnOffResult.content[0]?.text).toContain('turn_off is not available now: it is off.')
    expect(turnOnResult).toMatchObject({
      isError: true,
      _meta: { 'dev.drawbridge/failure': { code: 'unavailable_now', retryable: true } },
    })
    expect(executed).toEqual([])
    expect(client.notifications).toEqual([])
    expect(await client.read('drawbridge://live/availability')).toEqual({
      available: ['turn_off'],
      unavailable: ['turn_on'],
    })
    await client.call('turn_off')
    expect(executed).toHaveLength(1)
  })

  test('visibility: stable adds undeclared actions permanently, with one notification', async () => {
    const { client, actions } = await serveAndWatch({ a: anAction() }, { visibility: 'stable' })

    actions.set({ b: anAction() })
    await expect.poll(() => client.notifications).toEqual(['tools'])
    actions.set({ a: anAction() })
    await waitForQuiet()

    expect(await client.names()).toEqual(['a', 'b'])
    expect(client.notifications).toEqual(['tools'])
  })
})

test('an unchanged set of actions gives byte-identical lists in any order', async () => {
  const { service, actions } = aService({
    actions: { b: anAction(), a: anAction(), c: anAction() },
  })
  const { url } = await serveHere({ sources: [serviceSource(service)] })
  const list = async () => (await postModern(url, 'tools/list')).text
  const firstList = await list()

  actions.set({ c: anAction(), a: anAction(), b: anAction() })
  const reorderedList = await list()
  actions.set({})
  const emptyList = await list()
  actions.set({ a: anAction(), b: anAction(), c: anAction() })

  expect(reorderedList).toBe(firstList)
  expect(emptyList).not.toBe(firstList)
  expect(await list()).toBe(firstList)
})

test('an action that is replaced during a call is not executed with the old arguments', async () => {
  const [callStarted, callReleased] = [new Latch(), new Latch()]
  const initialAction = anAction({
    schema: { type: 'object', properties: { level: { type: 'number' } } },
  })
  const { service, actions, executed } = aService({ actions: { dim: initialAction } })
  const { bridge } = await serveHere({
    sources: [
      {
        mount: '/mcp',
        source: withDelay(serviceSource(service), async () => {
          callStarted.open()
          await callReleased.opened
        }),
      },
    ],
  })

  const call = bridge.call('dim', { level: 3 })
  await callStarted.opened
  actions.set({
    dim: anAction({ schema: { type: 'object', properties: { level: { type: 'string' } } } }),
  })
  callReleased.open()

  expect(await call).toMatchObject({ isError: true })
  expect(executed).toEqual([])
})

/** Wraps a source so that its calls first await `wait`. */
function withDelay(source: ReturnType<typeof serviceSource>, wait: () => Promise<void>) {
  return {
    id: source.id,
    read: async () => {
      const reading = await source.read()
      const capabilities = reading.capabilities.map((capability) => ({
        ...capability,
        invoke: async (call: Parameters<typeof capability.invoke>[0]) => {
          await wait()
          return capability.invoke(call)
        },
      }))
      return { ...reading, capabilities }
    },
  }
}

test('actions that never emit hide nothing else and give a diagnostic', async () => {
  const { service } = aService({ states: { lamp: { schema: {}, value: 1 } } })
  const silentActions = new ObservableValue<Actions>()
  const startMs = performance.now()
  const { bridge } = await serveHere({
    sources: [
      serviceSource({ ...service, actions: silentActions.observe }, { id: 'shy', readiness: 100 }),
    ],
  })

  expect(performance.now() - startMs).toBeGreaterThan(90)
  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['get_state'])
  expect(bridge.diagnostics).toMatchObject([
    { code: 'service_silent', severity: 'warning', source: 'shy', pointer: '/actions' },
  ])
  silentActions.set({ go: anAction() })
  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['get_state', 'go'])
  expect(bridge.diagnostics).toEqual([])
})

test('a late first emission is awaited, and ends the wait before the readiness timeout', async () => {
  const lateActions = new ObservableValue<Actions>()
  setTimeout(() => lateActions.set({ go: anAction() }), 30)

  const { bridge } = await serveHere({
    sources: [
      serviceSource(
        { actions: lateActions.observe, execute: async () => undefined },
        { readiness: 600_000 },
      ),
    ],
  })

  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['go'])
  expect(bridge.diagnostics).toEqual([])
})

test('invalid emissions never throw into the service, and closing unsubscribes from everything', async () => {
  const child = aService({ actions: { c: anAction() } })
  const { service, actions, states, links } = aService({
    actions: { a: anAction() },
    links: { child: child.service },
  })
  const source = serviceSource(service)
  const { bridge } = await serveHere({ sources: [source] })
  expect([actions, states, links, child.actions].map(({ watchers }) => watchers)).toEqual([
    1, 1, 1, 1,
  ])

  for (const invalidValue of [
    undefined,
    null,
    7,
    'words',
    [],
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    ),
  ])
    expect(() => {
      actions.set(invalidValue as never)
      states.set(invalidValue as never)
      links.set(invalidValue as never)
    }).not.toThrow()
  expect((await bridge.list()).tools).toBeDefined()
  actions.set({ back: anAction() })
  expect((await bridge.list()).tools.map(({ name }) => name)).toContain('back')

  await bridge.close(100)

  expect([actions, states, links, child.actions].map(({ watchers }) => watchers)).toEqual([
    0, 0, 0, 0,
  ])
})
