import { largestSource } from './records-data.mjs'
import { compare } from './records-measure.mjs'
import { findDeepCursor, openStore } from './records-reads.mjs'
import { createGrants, fillStore, removeStore, toFile } from './records-store.mjs'

/** Compares reads of a small store with reads of a large one, interleaved. */
export async function measureGrowth() {
  const files = [toFile('records-100k'), toFile('records-3m')]
  try {
    return await compareStores(files)
  } finally {
    for (const file of files) await removeStore(file)
  }
}

export async function compareStores(files) {
  const [small, large] = await Promise.all(
    files.map(async (file, index) => {
      fillStore(file, [100_000, 3_000_000][index])
      return openStore(file, createGrants(file))
    }),
  )
  const source = { connection: largestSource.connection, stream: largestSource.stream }
  const page = { ...source, fields: ['id', 'sent_at', 'channel', 'amount', 'subject'], limit: 50 }
  const [smallCursor, largeCursor] = [await findDeepCursor(small), await findDeepCursor(large)]
  const options = { rounds: 25, runs: 40, warmUpRounds: 40 }
  const toRow = (title, { small: floor, large: ours }, target) => ({
    title: `${title}, 3M against 100k`,
    floor,
    ours,
    ratio: ours / floor,
    target,
  })
  const rows = [
    toRow(
      'a page of 50',
      await compare({ small: () => small.page(page), large: () => large.page(page) }, options),
      1.3,
    ),
    toRow(
      'a deep page of 50',
      await compare(
        {
          small: () => small.page({ ...page, cursor: smallCursor }),
          large: () => large.page({ ...page, cursor: largeCursor }),
        },
        options,
      ),
      1.3,
    ),
  ]
  for (const q of ['zephyrine', 'meeting', 'the'])
    rows.push(
      toRow(
        `search for ${q}`,
        await compare(
          { small: () => small.search({ q }), large: () => large.search({ q }) },
          { rounds: 9, runs: 3 },
        ),
      ),
    )
  small.store.close()
  large.store.close()
  return rows
}
