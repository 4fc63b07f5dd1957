import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Capability } from '../../src/capability/capability.ts'
import type { Change, Source } from '../../src/capability/source.ts'
import { Catalog, type CatalogChange } from '../../src/catalog/catalog.ts'
import { toServedName } from '../../src/catalog/served-name.ts'
import { aCapability } from '../support/builders.ts'

const aSource = (id: string, ...names: string[]): Source => ({
  id,
  read: async () => ({
    capabilities: names.map((name) =>
      aCapability({ name, origin: { source: id, pointer: `/${name}` } }),
    ),
  }),
})

const namesIn = (catalog: Catalog) => [...catalog.snapshot.capabilities.keys()]

test('capabilities of all sources are sorted by code point', async () => {
  const catalog = await Catalog.open(
    [{ source: aSource('a', 'b_two', 'Z') }, { source: aSource('b', 'a_one', 'b-one') }],
    { naming: 'portable' },
  )
  expect(namesIn(catalog)).toEqual(['Z', 'a_one', 'b-one', 'b_two'])
})

test('a prefix is added to every name of its source', async () => {
  const catalog = await Catalog.open([{ source: aSource('a', 'pay'), prefix: 'billing' }], {
    naming: 'portable',
  })
  expect(namesIn(catalog)).toEqual(['billing_pay'])
  expect(catalog.snapshot.capabilities.get('billing_pay')?.capability.origin.name).toBe('pay')
})

test('two capabilities with the same name: both are reported and neither is served', async () => {
  const catalog = await Catalog.open(
    [{ source: aSource('left', 'same', 'other') }, { source: aSource('right', 'same') }],
    { naming: 'portable' },
  )
  expect(namesIn(catalog)).toEqual(['other'])
  const collisions = catalog.snapshot.diagnostics.filter(({ code }) => code === 'name_collision')
  expect(collisions.map(({ source }) => source)).toEqual(['left', 'right'])
  expect(collisions[0]?.message).toContain('left#/same and right#/same')
})

test('a dotted name and its portable form collide instead of one replacing the other', async () => {
  const catalog = await Catalog.open([{ source: aSource('a', 'x.y', 'x_y') }])
  expect(namesIn(catalog)).toEqual([])
})

test('names that hosts refuse are rewritten with a diagnostic, and kept in the origin', async () => {
  const longName = 'a'.repeat(70)
  const catalog = await Catalog.open([{ source: aSource('a', 'orders.read', longName) }])
  const [rewritten, dotted] = namesIn(catalog)
  expect(dotted).toBe('orders_read')
  expect(rewritten).toMatch(/^a{55}_[0-9a-f]{8}$/)
  expect(catalog.snapshot.diagnostics.map(({ code }) => code)).toEqual([
    'name_rewritten',
    'name_rewritten',
  ])
  expect(catalog.snapshot.capabilities.get('orders_read')?.capability.origin.name).toBe(
    'orders.read',
  )
})

test('literal names are kept where the protocol allows them', async () => {
  const catalog = await Catalog.open([{ source: aSource('a', 'orders.read', 'no spaces') }], {
    naming: 'literal',
  })
  expect(namesIn(catalog)).toEqual(['orders.read'])
  expect(catalog.snapshot.diagnostics).toMatchObject([{ code: 'name_unusable' }])
})

test.each(['__proto__', 'constructor', 'toString', 'prototype', ''])(
  'the name %j omits only its capability',
  async (name) => {
    const catalog = await Catalog.open([{ source: aSource('a', name, 'good') }])
    expect(namesIn(catalog)).toEqual(['good'])
    expect(catalog.snapshot.diagnostics).toMatchObject([
      { code: 'name_unusable', severity: 'error' },
    ])
  },
)

test('every served name is portable and a pure function of the declared name', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'binary' }), (declared) => {
      const served = toServedName(declared, 'portable')
      expect(toServedName(declared, 'portable')).toEqual(served)
      if ('name' in served) expect(served.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    }),
  )
})

test('a source that fails to read keeps its last capabilities and does not affect others', async () => {
  let isBroken = false
  let announce: (change: Change) => void = () => {}
  const failingSource: Source = {
    id: 'moody',
    read: async () => {
      if (isBroken) throw new Error('gone')
      return { capabilities: [aCapability({ name: 'moody_one' })] }
    },
    watch: (listener) => {
      announce = listener
      return () => {}
    },
  }
  const catalog = await Catalog.open(
    [{ source: failingSource }, { source: aSource('b', 'calm') }],
    {
      naming: 'portable',
    },
  )
  isBroken = true
  announce({ kind: 'reading' })
  await expect
    .poll(() => catalog.snapshot.diagnostics)
    .toMatchObject([{ code: 'source_unreadable' }])
  expect(namesIn(catalog)).toEqual(['calm', 'moody_one'])
})

test('a change is published once with its differences, and a read without changes is not published', async () => {
  let capabilities: Capability[] = [aCapability({ name: 'one' })]
  let announce: (change: Change) => void = () => {}
  const source: Source = {
    id: 'live',
    read: async () => ({ capabilities }),
    watch: (listener) => {
      announce = listener
      return () => {}
    },
  }
  const catalog = await Catalog.open([{ source }])
  const changes: CatalogChange[] = []
  catalog.subscribe((change) => changes.push(change))

  announce({ kind: 'reading' })
  announce({ kind: 'view', uri: 'x://y' })
  await expect.poll(() => changes).toHaveLength(1)
  capabilities = [aCapability({ name: 'one', description: 'Different words.' })]
  announce({ kind: 'reading' })
  await expect.poll(() => changes).toHaveLength(2)

  expect(changes[0]).toMatchObject({ capabilities: [], updated: ['x://y'] })
  expect(changes[1]).toMatchObject({
    capabilities: [{ description: 'Looks something up.' }, { description: 'Different words.' }],
    prompts: [],
    views: [],
    updated: [],
  })
})

test('closing unsubscribes from and closes every source', async () => {
  const events: string[] = []
  const source: Source = {
    id: 'held',
    read: async () => ({ capabilities: [] }),
    watch: () => () => events.push('stopped'),
    close: async () => void events.push('closed'),
  }
  const catalog = await Catalog.open([{ source }])
  await catalog.close()
  expect(events).toEqual(['stopped', 'closed'])
})
