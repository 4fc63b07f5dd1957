import { describe, expect, test } from 'vitest'
import { type ServiceOptions, serviceSource } from '../../src/index.ts'
import { anAction, aService, type States } from '../support/a-service.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { aWhile } from '../support/eventually.ts'
import { serveHere } from '../support/serve-here.ts'
import { aWatcher } from '../support/watching-clients.ts'

const overHttp = clientKinds.filter((clientKind) => clientKind.endsWith('HTTP'))
const schema = { type: 'integer', title: 'Level', description: 'How bright it is.' }

describe.each(overHttp)('%s', (clientKind) => {
  async function serveAndConnect(states: States, options: ServiceOptions = {}) {
    const parts = aService({ states, actions: { dim: anAction() } })
    const source = serviceSource(parts.service, { id: 'lamps', ...options })
    const server = await serveHere({ sources: [source] })
    return {
      ...parts,
      ...server,
      client: await aWatcher(clientKind, { url: server.url, what: '' }),
    }
  }

  test('each state is a resource with title and schema, and sends an update when its value changes [S5, S13, S26, S27, S43]', async () => {
    const { client, states } = await serveAndConnect({
      level: { schema, value: 3 },
      'a b/c': { schema: { type: 'string' }, value: 'x' },
    })
    const [escapedUri, uri] = [
      'drawbridge://lamps/state/a%20b%2Fc',
      'drawbridge://lamps/state/level',
    ]

    expect(await client.resources()).toMatchObject([
      { uri: escapedUri, mimeType: 'application/json' },
      {
        uri,
        name: 'level',
        title: 'Level',
        description: 'How bright it is.',
        _meta: { 'dev.drawbridge/schema': schema },
      },
    ])
    expect([await client.read(uri), await client.read(escapedUri)]).toEqual([3, 'x'])
    await client.watch(uri)
    states.set({ ...states.value, level: { schema, value: 4 } })
    await expect.poll(() => client.notifications).toEqual([uri])
    expect(await client.read(uri)).toBe(4)
  })

  test('a burst sends one update; an equal value or a change of another state sends none', async () => {
    const { client, states } = await serveAndConnect({
      level: { schema, value: 0 },
      other: { schema, value: 0 },
    })
    const uri = 'drawbridge://lamps/state/level'
    await client.watch(uri)

    for (let value = 1; value <= 1000; value++)
      states.set({ ...states.value, level: { schema, value } })
    await expect.poll(() => client.notifications).toEqual([uri])
    for (let time = 0; time < 10; time++)
      states.set({ level: { schema, value: 1000 }, other: { schema, value: time } })
    await aWhile(250)

    expect(client.notifications).toEqual([uri])
    expect(await client.read(uri)).toBe(1000)
  })

  test('a value mutated in place is detected', async () => {
    const value = { level: 1 }
    const { client, states } = await serveAndConnect({ lamp: { schema: {}, value } })
    await client.watch('drawbridge://lamps/state/lamp')

    value.level = 2
    states.set(states.value)

    await expect.poll(() => client.notifications).toEqual(['drawbridge://lamps/state/lamp'])
    expect(await client.read('drawbridge://lamps/state/lamp')).toEqual({ level: 2 })
  })

  test('an added or removed state notifies subscribers of the list and of the resource', async () => {
    const { client, states } = await serveAndConnect({ level: { schema, value: 1 } })
    const uri = 'drawbridge://lamps/state/level'
    await client.watch(uri)

    states.set({})

    await expect.poll(() => client.notifications.toSorted()).toEqual([uri, 'resources'])
    expect(await client.resources()).toEqual([])
    await expect(client.read(uri)).rejects.toMatchObject({ code: -32602 })
    await aWhile(150)
    states.set({ level: { schema, value: 1 } })
    await expect
      .poll(() => client.notifications.filter((one) => one === 'resources'))
      .toHaveLength(2)
  })

  test('get_state returns the whole snapshot or one state [S28]', async () => {
    const { client, states } = await serveAndConnect({
      level: { schema, value: 3 },
      mood: { schema: { type: 'string' }, value: 'calm' },
    })

    expect(await client.call('get_state')).toMatchObject({
      structuredContent: { level: 3, mood: 'calm' },
      content: [{ text: '{"level":3,"mood":"calm"}' }],
    })
    expect((await client.call('get_state', { key: 'mood' })).structuredContent).toEqual({
      mood: 'calm',
    })
    const unknownKey = await client.call('get_state', { key: 'colour' })
    expect(unknownKey.isError).toBe(true)
    expect(unknownKey.content[0]?.text).toContain('Available: level, mood.')
    states.set({ level: { schema, value: 5 } })
    expect((await client.call('get_state')).structuredContent).toEqual({ level: 5 })
  })
})

test.each([
  { states: 'resources', tools: ['dim'], resources: 1 },
  { states: 'tool', tools: ['dim', 'get_state'], resources: 0 },
  { states: 'both', tools: ['dim', 'get_state'], resources: 1 },
  { states: 'none', tools: ['dim'], resources: 0 },
] as const)(
  'states: $states selects resources and the get_state tool without changing the service [S25, S29]',
  async (choice) => {
    const parts = aService({
      states: { level: { schema, value: 3 } },
      actions: { dim: anAction() },
    })
    const { bridge } = await serveHere({
      sources: [serviceSource(parts.service, { states: choice.states })],
    })

    expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(choice.tools)
    expect(bridge.mounts.get('/mcp')?.views.size).toBe(choice.resources)
    expect(parts.states.watchers).toBe(choice.states === 'none' ? 0 : 1)
    if (choice.states === 'tool')
      expect((await bridge.call('get_state')).structuredContent).toEqual({ level: 3 })
  },
)

test('an unusable state omits only itself, and an action named get_state replaces the built-in tool', async () => {
  const circularValue: { self?: unknown } = {}
  circularValue.self = circularValue
  const { service, states } = aService({
    actions: { get_state: anAction({ description: 'The service’s own.' }) },
    states: {
      good: { schema: { type: 'number', layout: 'packed' }, value: 1 },
      big: { schema: {}, value: 10n },
      circle: { schema: {}, value: circularValue },
      blob: { schema: { type: 'blob' }, value: 'x' },
      nothing: 7 as never,
    },
  })
  const { bridge } = await serveHere({ sources: [serviceSource(service, { id: 'mixed' })] })

  expect([...(bridge.mounts.get('/mcp')?.views.keys() ?? [])]).toEqual([
    'drawbridge://mixed/state/good',
  ])
  expect((await bridge.list()).tools).toMatchObject([{ description: 'The service’s own.' }])
  expect(bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`).sort()).toEqual([
    'keyword_stripped /states/good/schema/layout',
    'name_taken /actions/get_state',
    'state_unusable /states/big',
    'state_unusable /states/blob',
    'state_unusable /states/circle',
    'state_unusable /states/nothing',
  ])
  states.set({ good: { value: undefined } })
  expect(bridge.mounts.get('/mcp')?.views.size).toBe(1)
})
