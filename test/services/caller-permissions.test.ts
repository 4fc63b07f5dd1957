import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { serviceSource } from '../../src/index.ts'
import { anAction, aService } from '../support/a-service.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { aWhile } from '../support/eventually.ts'
import { serveHere } from '../support/serve-here.ts'
import { asBearer, tokenOf } from '../support/tokens.ts'
import { aWatcher } from '../support/watching-clients.ts'

const overHttp = clientKinds.filter((clientKind) => clientKind.endsWith('HTTP'))
const scopesBySubject = { ann: ['home:secrets'], bob: [] as string[] }

const tokens = Object.entries(scopesBySubject).map(([subject, scopes]) => ({
  hash: `sha256:${createHash('sha256').update(tokenOf(subject)).digest('hex')}`,
  subject,
  scopes,
}))

describe.each(overHttp)('%s', (clientKind) => {
  /** A home service whose safe is visible only to ann. */
  async function serveHome() {
    const parts = aService({
      actions: { wave: anAction() },
      states: { mood: { schema: {}, value: 'calm' }, safe_code: { schema: {}, value: 1 } },
    })
    const { url } = await serveHere({
      sources: [serviceSource(parts.service, { id: 'home' })],
      policy: { rules: [{ match: '*safe*', permissions: ['home:secrets'] }] },
      http: { tokens },
    })
    const [ann, bob] = await Promise.all(
      ['ann', 'bob'].map((subject) =>
        aWatcher(clientKind, { url, what: '', headers: asBearer(subject) }),
      ),
    )
    if (!ann || !bob) throw new Error('missing client')
    return { ...parts, ann, bob }
  }

  test('lists and states are filtered by the permissions of the caller', async () => {
    const { ann, bob, actions } = await serveHome()
    actions.set({ wave: anAction(), open_safe: anAction() })

    expect(await ann.names()).toEqual(['get_state', 'open_safe', 'wave'])
    expect(await bob.names()).toEqual(['get_state', 'wave'])
    expect((await ann.resources()).map(({ name }) => name)).toEqual(['mood', 'safe_code'])
    expect((await bob.resources()).map(({ name }) => name)).toEqual(['mood'])
    expect((await ann.call('get_state')).structuredContent).toEqual({ mood: 'calm', safe_code: 1 })
    expect((await bob.call('get_state')).structuredContent).toEqual({ mood: 'calm' })
    expect((await bob.call('get_state', { key: 'safe_code' })).isError).toBe(true)
    await expect(bob.read('drawbridge://home/state/safe_code')).rejects.toThrow()
  })

  test('clients get no notifications about tools and states that they may not see', async () => {
    const { ann, bob, actions, states } = await serveHome()
    const [safeUri, moodUri] = ['drawbridge://home/state/safe_code', 'drawbridge://home/state/mood']
    await ann.watch(safeUri, moodUri)
    await bob.watch(...(clientKind.startsWith('2026') ? [safeUri, moodUri] : [moodUri]))

    actions.set({ wave: anAction(), open_safe: anAction() })
    states.set({ ...states.value, safe_code: { schema: {}, value: 2 } })
    await expect.poll(() => ann.notifications.toSorted()).toEqual([safeUri, 'tools'])
    await aWhile(200)
    expect(bob.notifications).toEqual([])

    states.set({ mood: { schema: {}, value: 'merry' } })
    await expect.poll(() => bob.notifications).toEqual([moodUri])
    await expect
      .poll(() => ann.notifications.toSorted())
      .toEqual([moodUri, safeUri, safeUri, 'resources', 'tools'])
  })

  test('the available actions in a failure are filtered by the permissions of the caller', async () => {
    const { bob, actions } = await serveHome()
    await bob.names()

    actions.set({ open_safe: anAction(), nod: anAction() })
    const withdrawnCall = await bob.call('wave')

    expect(withdrawnCall._meta?.['dev.drawbridge/failure']).toMatchObject({
      details: { available: ['nod'] },
    })
    expect(JSON.stringify(withdrawnCall)).not.toContain('open_safe')
  })
})
