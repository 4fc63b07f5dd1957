import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

interface Requirement {
  readonly document: string
  readonly source: string
  /** A sentence of kind `context` describes something but demands nothing: it needs no proof. */
  readonly sentences: readonly { id: string; text: string; kind?: 'context' }[]
}

/** Who answers for which document. Fixed here, so that a typing error cannot defer one for ever. */
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

  test('is proved sentence by sentence once its source is built', () => {
    const { unproved } = toTally(readRequirement(file), readProvedIds())

    if (isBuilt(source)) expect(unproved.map(({ id, text }) => `${id} ${text}`)).toEqual([])
  })
})

test('every reference in a test title names a sentence that exists', () => {
  const known = documents.flatMap(({ file }) => readRequirement(file).sentences.map(({ id }) => id))

  expect([...readProvedIds()].filter((id) => !known.includes(id))).toEqual([])
})

test('the state of every document is printed', () => {
  const lines = documents.map(({ file, source }) => {
    const { proved, unproved, context } = toTally(readRequirement(file), readProvedIds())
    const rest = isBuilt(source) ? 'unproved' : `deferred until src/sources/${source} is built`
    return `${file.padEnd(20)}${proved} proved, ${context} context, ${unproved.length} ${rest}`
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

/** The title is the first string that opens an argument list; a skipped test proves nothing. */
function toTitles(code: string): readonly string[] {
  return code
    .split(/^\s*(?=(?:test|it)[.(])/m)
    .filter((part) => /^(?:test|it)[.(]/.test(part) && !/^[\w.]+\.(?:skip|todo)\b/.test(part))
    .map((part) => /\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1\s*,/.exec(part)?.[2] ?? '')
}

/** `[D12]`, `[D12, D13]` and `[D1-D4]`; anything else of that look is kept, and found dangling. */
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
  const demands = sentences.filter(({ kind }) => kind !== 'context')
  const unproved = demands.filter(({ id }) => !ids.has(id))
  const proved = demands.length - unproved.length
  return { proved, unproved, context: sentences.length - demands.length }
}

const isBuilt = (source: string) => existsSync(join(import.meta.dirname, '../src/sources', source))
