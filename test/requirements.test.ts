import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

interface Requirement {
  readonly document: string
  readonly source: string
  /** A sentence of kind `context` is a description and needs no test. */
  readonly sentences: readonly { id: string; text: string; kind?: 'context' }[]
}

/** The source of each document, fixed here so that a typing error cannot defer one for ever. */
const documents = [
  { file: '1-manifests.yaml', letter: 'M', source: 'manifest' },
  { file: '2-definitions.yaml', letter: 'D', source: 'definitions' },
  { file: '3-intents.yaml', letter: 'I', source: 'intents' },
  { file: '4-records.yaml', letter: 'R', source: 'records' },
  { file: '5-services.yaml', letter: 'S', source: 'services' },
] as const

describe.each(documents)('$file', ({ file, letter, source }) => {
  test('is well-formed and numbered in order', () => {
    const requirement = readRequirement(file)

    expect(requirement.source).toBe(source)
    expect(requirement.sentences.length).toBeGreaterThan(0)
    requirement.sentences.forEach(({ id, text, kind }, index) => {
      expect(id).toBe(`${letter}${index + 1}`)
      expect(text, id).toMatch(/\S/)
      expect([undefined, 'context'], id).toContain(kind)
    })
  })

  test('has a test for every sentence once its source is built', () => {
    const { unproved } = toTally(readRequirement(file), readProvedIds())

    if (isBuilt(source)) expect(unproved.map(({ id, text }) => `${id} ${text}`)).toEqual([])
  })
})

test('every reference in a test title names an existing sentence', () => {
  const knownIds = documents.flatMap(({ file }) =>
    readRequirement(file).sentences.map(({ id }) => id),
  )

  expect([...readProvedIds()].filter((id) => !knownIds.includes(id))).toEqual([])
})

test('the state of every document is printed', () => {
  const lines = documents.map(({ file, source }) => {
    const {
      proved: provedCount,
      unproved,
      context,
    } = toTally(readRequirement(file), readProvedIds())
    const status = isBuilt(source) ? 'unproved' : `deferred until src/sources/${source} is built`
    return `${file.padEnd(20)}${provedCount} proved, ${context} context, ${unproved.length} ${status}`
  })

  console.info(lines.join('\n'))
})

function readRequirement(file: string): Requirement {
  return parse(readFileSync(join(import.meta.dirname, 'requirements', file), 'utf8'))
}

function readProvedIds(): ReadonlySet<string> {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && file !== basename(import.meta.filename))
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
  return new Set(files.flatMap(toTitles).flatMap(toIds))
}

/** The title is the first string that opens an argument list; skipped tests do not count. */
function toTitles(code: string): readonly string[] {
  return code
    .split(/^\s*(?=(?:test|it)[.(])/m)
    .filter((part) => /^(?:test|it)[.(]/.test(part) && !/^[\w.]+\.(?:skip|todo)\b/.test(part))
    .map((part) => /\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1\s*,/.exec(part)?.[2] ?? '')
}

/** Accepts `[D12]`, `[D12, D13]` and `[D1-D4]`; any other form is kept and reported as dangling. */
function toIds(title: string): readonly string[] {
  const lists = [...title.matchAll(/\[([A-Z]\d[^\]]*)\]/g)].map(([, list = '']) => list)
  return lists.flatMap((list) => list.split(', ')).flatMap(toRange)
}

function toRange(reference: string): readonly string[] {
  const [, letter, first, last] = /^([A-Z])(\d+)-\1(\d+)$/.exec(reference) ?? []
  const count = Number(last) - Number(first) + 1
  if (!(count > 0)) return [reference]
  return Array.from({ length: count }, (_, index) => `${letter}${Number(first) + index}`)
}

function toTally({ sentences }: Requirement, ids: ReadonlySet<string>) {
  const testable = sentences.filter(({ kind }) => kind !== 'context')
  const unproved = testable.filter(({ id }) => !ids.has(id))
  const provedCount = testable.length - unproved.length
  return { proved: provedCount, unproved, context: sentences.length - testable.length }
}

const isBuilt = (source: string) => existsSync(join(import.meta.dirname, '../src/sources', source))
