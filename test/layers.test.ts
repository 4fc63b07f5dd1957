import { readFileSync } from 'node:fs'
import path from 'node:path'
import { globSync } from 'tinyglobby'
import { expect, test } from 'vitest'

const root = path.resolve('src')
const files = globSync('**/*.ts', { cwd: root })

/**
 * The table of `docs/architecture.md`: what a folder or file may import besides itself. An entry is a
 * row of the table, or a file or folder inside one for that part only.
 */
const mayImport = readTable(readFileSync('docs/architecture.md', 'utf8'))

function readTable(markdown: string): Readonly<Record<string, readonly string[]>> {
  const rows: Record<string, readonly string[]> = {}
  const [, body = ''] = markdown.split('| folder | content | may import, besides itself |\n')
  const [table = ''] = body.split('\n\n')
  for (const [, row = '', imports = ''] of table.matchAll(/^\| `([^`]+?)\/?` \|.*\| ([^|]+) \|$/gm))
    rows[row] = toEntries(imports, Object.keys(rows))
  return rows
}

function toEntries(imports: string, rowsAbove: readonly string[]): readonly string[] {
  if (imports === '–') return []
  return imports === 'all of the above' ? rowsAbove : imports.split(', ')
}

/** Packages that only one folder may import. */
const ownedBy: Record<string, string> = {
  '@modelcontextprotocol': 'mcp',
  citty: 'cli',
  yaml: 'yaml',
  libsql: 'storage',
  '@nats-io': 'sources/intents',
}

const isWithin = (entry: string, file: string): boolean =>
  file === entry || file.startsWith(`${entry}/`)

/** The deepest row of the table that contains the file. */
const rowOf = (file: string): string | undefined =>
  Object.keys(mayImport)
    .filter((row) => isWithin(row, file))
    .sort((a, b) => b.length - a.length)[0]

const importsOf = (file: string): string[] =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/(?:from|import\() ?'([^']+)'/g)].map(
    ([, specifier]) => specifier ?? '',
  )

/** A row covers its own files, but not a nested folder with its own row. */
const covers = (entry: string, target: string): boolean =>
  entry in mayImport ? rowOf(target) === entry : isWithin(entry, target)

test('the table is read', () => {
  expect(Object.keys(mayImport)).toEqual(expect.arrayContaining(['capability', 'cli', 'index.ts']))
  expect(mayImport).toMatchObject({ capability: [], runtime: expect.arrayContaining(['mcp']) })
})

test('every row and every entry of the table exists', () => {
  const names = Object.entries(mayImport).flat(2)
  expect(names.filter((name) => !files.some((file) => isWithin(name, file)))).toEqual([])
})

test('every file of src is in a row', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((file) => rowOf(file) === undefined)).toEqual([])
})

test('a file imports only from the rows that its own row allows', () => {
  const violations = files.flatMap((file) =>
    importsOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => path.relative(root, path.resolve(root, path.dirname(file), specifier)))
      .filter((target) => {
        const importer = rowOf(file) ?? ''
        return (
          importer !== rowOf(target) && !mayImport[importer]?.some((entry) => covers(entry, target))
        )
      })
      .map((target) => `${file} imports ${target}`),
  )
  expect(violations).toEqual([])
})

test('a package owned by one folder is imported by no other', () => {
  const violations = files.flatMap((file) =>
    importsOf(file)
      .filter((specifier) =>
        Object.entries(ownedBy).some(
          ([name, owner]) => specifier.startsWith(name) && rowOf(file) !== owner,
        ),
      )
      .map((specifier) => `${file} imports ${specifier}`),
  )
  expect(violations).toEqual([])
})
