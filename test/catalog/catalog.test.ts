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

test('capabilities of all sources stand in code-point order', async () => {
  const catalog = await Catalog.open(
    [{ source: aSource('a', 'b_two', 'Z') }, { source: aSource('b', 'a_one', 'b-one') }],
    { naming: 'portable' },
  )
  expect(namesIn(catalog)).toEqual(['Z', 'a_one', 'b-one', 'b_two'])
})

test('a prefix goes before every name of its source', async () => {
  const catalog = await Catalog.open([{ source: aSource('a', 'pay'), prefix: 'billing' }], {
    naming: 'portable',
  })
  expect(namesIn(catalog)).toEqual(['billing_pay'])
  expect(catalog.snapshot.capabilities.get('billing_pay')?.capability.origin.name).toBe('pay')
})

test('two capabilities with one name: both are named and neither is served', async () => {
  const catalog = await Catalog.open(
    [{ source: aSource('left', 'same', 'other') }, { source: aSource('right', 'same') }],
    { naming: 'portable' },
  )
  expect(namesIn(catalog)).toEqual(['other'])
  const collisions = catalog.snapshot.diagnostics.filter(({ code }) => code === 'name_collision')
  expect(collisions.map(({ source }) => source)).toEqual(['left', 'right'])
  expect(collisions[0]?.message).toContain('left#/same and right#/same')
})

test('a dotted name and its portable twin collide instead of one replacing the other', async () => {
  const catalog = await Catalog.open([{ source: aSource('a', 'x.y', 'x_y') }])
  expect(namesIn(catalog)).toEqual([])
})

test('names that hosts refuse are rewritten, said, and kept as they were in the origin', async () => {
  const long = 'a'.repeat(70)
  const catalog = await Catalog.open([{ source: aSource('a', 'orders.read', long) }])
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
  'the name %j is left out alone',
  async (name) => {
    const catalog = await Catalog.open([{ source: aSource('a', name, 'good') }])
    expect(namesIn(catalog)).toEqual(['good'])
    expect(catalog.snapshot.diagnostics).toMatchObject([
      { code: 'name_unusable', severity: 'error' },
    ])
  },
)

test('every served name is portable and depends on nothing but the declared one', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'binary' }), (declared) => {
      const served = toServedName(declared, 'portable')
      expect(toServedName(declared, 'portable')).toEqual(served)
      if ('name' in served) expect(served.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    }),
  )
})

test('a source that cannot be read leaves the others alone, and keeps what it last offered', async () => {
  let broken = false
  let announce: (change: Change) => void = () => {}
  const moody: Source = {
    id: 'moody',
    read: async () => {
      if (broken) throw new Error('gone')
      return { capabilities: [aCapability({ name: 'moody_one' })] }
    },
    watch: (tell) => {
      announce = tell
      return () => {}
    },
  }
  const catalog = await Catalog.open([{ source: moody }, { source: aSource('b', 'calm') }], {
    naming: 'portable',
  })
  broken = true
  announce({ kind: 'reading' })
  await expect
    .poll(() => catalog.snapshot.diagnostics)
    .toMatchObject([{ code: 'source_unreadable' }])
  expect(namesIn(catalog)).toEqual(['calm', 'moody_one'])
})

test('a change is told once, with what it concerns, and no change is told to nobody', async () => {
  let offered: Capability[] = [aCapability({ name: 'one' })]
  let announce: (change: Change) => void = () => {}
  const source: Source = {
    id: 'live',
    read: async () => ({ capabilities: offered }),
    watch: (tell) => {
      announce = tell
      return () => {}
    },
  }
  const catalog = await Catalog.open([{ source }])
  const heard: CatalogChange[] = []
  catalog.subscribe((change) => heard.push(change))

  announce({ kind: 'reading' })
  announce({ kind: 'view', uri: 'x://y' })
  await expect.poll(() => heard).toHaveLength(1)
  offered = [aCapability({ name: 'one', description: 'Different words.' })]
  announce({ kind: 'reading' })
  await expect.poll(() => heard).toHaveLength(2)

  expect(heard[0]).toMatchObject({ capabilities: [], updated: ['x://y'] })
  expect(heard[1]).toMatchObject({
    capabilities: [{ description: 'Looks something up.' }, { description: 'Different words.' }],
    prompts: [],
    views: [],
    updated: [],
  })
})

test('closing lets go of every source', async () => {
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
