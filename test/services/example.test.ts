import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as library from '../../src/index.ts'
import type { Drawbridge } from '../../src/runtime/drawbridge.ts'
import { openDrawbridge } from '../../src/runtime/open-drawbridge.ts'
import { aProject } from '../support/a-project.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { drawbridge } from '../support/run-cli.ts'
import { aWatcher } from '../support/watching-clients.ts'

const exampleFolder = path.resolve('examples/services')
const openExample = async () =>
  openDrawbridge(exampleFolder, { library: async () => library, environment: {}, store: 'none' })

describe('the home of examples/services, observed by a client', () => {
  let bridge: Drawbridge
  let url: string

  beforeAll(async () => {
    ;({ bridge } = await openExample())
    url = `http://127.0.0.1:${(await bridge.listen({ port: 0 })).port}/mcp`
  })
  afterAll(() => bridge.close(100))

  test.each(clientKinds)('%s [S14, S40]', async (clientKind) => {
    const client = await aWatcher(clientKind, { url, what: exampleFolder })
    const clock = 'drawbridge://home/state/clock'
    const lamp = 'drawbridge://home/state/kitchen/lamp'
    await client.watch(clock, lamp)

    // A state changes on its own.
    const before = await client.read(clock)
    await expect.poll(() => client.notifications).toContain(clock)
    await expect.poll(() => client.read(clock)).not.toBe(before)

    // A call changes actions and states.
    expect(await client.names()).toContain('kitchen_turn_lamp_on')
    await client.call('kitchen_turn_lamp_on')
    expect(await client.names()).toContain('kitchen_turn_lamp_off')
    await expect.poll(() => client.notifications).toEqual(expect.arrayContaining(['tools', lamp]))
    expect(await client.read(lamp)).toBe(true)

    // A call of a withdrawn action.
    const withdrawnCall = await client.call('kitchen_turn_lamp_on')
    expect(withdrawnCall.content[0]?.text).toContain('kitchen_turn_lamp_off')

    // A link is added, and leaving home withdraws actions.
    const room = `attic${'abcd'[clientKinds.indexOf(clientKind)]}`
    await client.call('add_room', { name: room })
    expect(await client.names()).toContain(`${room}_set_temperature`)
    expect(await client.call('add_room', { name: room })).toMatchObject({
      isError: true,
      content: [{ text: `Room ${room} already exists.` }],
    })
    await client.call('leave_home')
    expect(await client.names()).not.toContain('add_room')
    expect(await client.read(lamp)).toBe(false)
    await client.call('return_home')
    expect(
      (await client.call('kitchen_set_temperature', { target: 21 })).structuredContent,
    ).toMatchObject({
      target: 21,
    })
  })
})

test('closing the service releases its timers', async () => {
  const { bridge } = await openExample()
  await bridge.close(100)
  // A leaked timer would keep the process of `check` alive.
  const { code, stdout } = await drawbridge(['check', exampleFolder])
  expect([code, stdout]).toEqual([0, '7 tools, 0 errors, 0 warnings\n'])
})

describe('service: in a configuration', () => {
  const lights = `
export const options = { reason: () => 'it is dark', declares: { shine: { description: 'Shines.', schema: false } } }
export default async () => ({
  actions: (notify) => { notify({ go: { description: 'Goes.', schema: false } }); return () => {} },
  states: (notify) => { notify({ lamp: { schema: {}, value: 1 } }); return () => {} },
  execute: async () => 'said',
})`

  const serve = async (yaml: string, module = lights) => {
    const folder = await aProject({ 'drawbridge.yaml': yaml, 'lights.ts': module })
    return openDrawbridge(folder, { library: async () => library, environment: {}, store: 'none' })
  }

  test('accepts all options, and the module exports the others', async () => {
    const { bridge } = await serve(
      `sources:\n  - service: ./lights.ts\n    prefix: my\n    id: lamps\n    visibility: stable\n    states: resources\n    links: out-of-band\n    strings: data\n    readiness: 10\n    depth: 1\n    effects: { go: { writes: false } }\n`,
    )
    expect((await bridge.list()).tools).toMatchObject([
      { name: 'my_go', annotations: { readOnlyHint: true } },
      { name: 'my_shine' },
    ])
    expect((await bridge.call('my_go')).content).toEqual([{ type: 'text', text: 'said' }])
    expect(JSON.stringify(await bridge.call('my_shine'))).toContain('it is dark')
    expect([...(bridge.mounts.get('/mcp')?.views.keys() ?? [])]).toEqual([
      'drawbridge://lamps/availability',
      'drawbridge://lamps/state/lamp',
    ])
    await bridge.close(0)
  })

  test('a module path on the command line is served by its exports', async () => {
    const folder = await aProject({ 'lights.ts': lights })
    const { bridge } = await openDrawbridge(path.join(folder, 'lights.ts'), {
      library: async () => library,
      environment: {},
      store: 'none',
    })
    expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['get_state', 'go'])
    await bridge.close(0)
  })

  test.each([
    ['export default 7', 'default export must be a service'],
    ['export default () => { throw new Error("no") }', 'no'],
    ['import "./missing.ts"', 'does not load'],
  ])('a module that is not a service gives a diagnostic: %s', async (module, message) => {
    const { bridge } = await serve('sources:\n  - service: ./lights.ts\n', module)
    expect(bridge.diagnostics).toMatchObject([
      { code: 'source_unreadable', message: expect.stringContaining(message) },
    ])
    await bridge.close(0)
  })

  test('an invalid option is an error with line and column', async () => {
    await expect(
      serve('sources:\n  - service: ./lights.ts\n    visibility: sometimes\n'),
    ).rejects.toThrow(/drawbridge\.yaml:3:17 \/sources\/0\/visibility/)
    await expect(serve('sources:\n  - service: ./lights.ts\n    state: both\n')).rejects.toThrow(
      /Did you mean "states"\?/,
    )
  })
})
