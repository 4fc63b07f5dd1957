import { readdirSync, readFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import canonicalize from 'canonicalize'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createRandom, type Random } from '../fuzz/random.ts'
import { project, toJson, toYaml } from '../support/a-manifest.ts'
import { drawbridge } from '../support/run-cli.ts'

const folder = path.resolve('test/fixtures/manifests')
const manifests = readdirSync(folder).filter((name) => /^[\w-]+\.(yaml|json)$/.test(name))
const goldenOf = (name: string) =>
  readFileSync(path.join(folder, name.replace(/\.\w+$/, '.mcp.json')), 'utf8')

test('there are at least six fixture manifests, each with a golden file', () => {
  expect(manifests.length).toBeGreaterThanOrEqual(6)
  for (const name of manifests) expect(goldenOf(name)).toMatch(/^\{.*\}\n$/s)
})

describe.each(manifests)('%s', (name) => {
  test('is projected to the bytes of its golden file from any folder, locale and time zone [M1]', async () => {
    const sameFolder = await drawbridge(['project', name, '--to', 'mcp'], { cwd: folder })
    const otherFolder = await drawbridge(['project', path.join(folder, name), '--to', 'mcp'], {
      cwd: os.tmpdir(),
      env: { LC_ALL: 'tr_TR.UTF-8', TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' },
    })

    expect(sameFolder).toMatchObject({ code: 0, stdout: goldenOf(name) })
    expect(otherFolder).toMatchObject({ code: 0, stdout: goldenOf(name) })
  })
})

describe.each(manifests)('%s', (name) => {
  const data: unknown = parse(readFileSync(path.join(folder, name), 'utf8'))
  const toBytes = async (text: string) => `${canonicalize((await project(text)).json)}\n`

  test.each([1, 2, 3])('with shuffled keys gives the same bytes (seed %i) [M1]', async (seed) => {
    const shuffled = shuffle(data, createRandom(seed))

    expect(JSON.stringify(shuffled)).not.toBe(JSON.stringify(data))
    expect(await toBytes(toYaml(shuffled))).toBe(goldenOf(name))
  })

  test('as YAML, JSON and single-line JSON gives the same bytes [M1]', async () => {
    for (const text of [toYaml(data), toJson(data), JSON.stringify(data)])
      expect(await toBytes(text)).toBe(goldenOf(name))
  })
})

/** Shuffles the keys of every mapping; lists keep their order. */
function shuffle(value: unknown, random: Random): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffle(item, random))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  for (let at = entries.length - 1; at > 0; at--) {
    const otherIndex = random.below(at + 1)
    ;[entries[at], entries[otherIndex]] = [entries[otherIndex], entries[at]] as [never, never]
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, shuffle(item, random)]))
}
