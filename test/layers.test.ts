import { readFileSync } from 'node:fs'
import path from 'node:path'
import { globSync } from 'tinyglobby'
import { expect, test } from 'vitest'

/**
 * The table of `docs/architecture.md`: what a folder may import besides itself. An entry is a folder
 * of this table, or one of its files or subfolders for that part only.
 */
const mayImport: Record<string, readonly string[]> = {
  capability: [],
  contracts: ['capability'],
  upstream: ['capability'],
  yaml: [],
  sources: ['capability'],
  'sources/manifest': ['capability', 'contracts', 'upstream', 'yaml'],
  'sources/definitions': ['capability', 'contracts', 'sources'],
  'sources/intents': ['capability', 'contracts', 'sources'],
  'sources/records': ['capability', 'contracts', 'upstream', 'sources/records/model'],
  'sources/records/model': ['capability'],
  'sources/services': ['capability', 'contracts'],
  catalog: ['capability'],
  governance: ['capability'],
  mcp: ['capability', 'catalog', 'governance', 'upstream'],
  http: [
    'capability',
    'mcp/http-endpoint.ts',
    'mcp/http-port.ts',
    'mcp/rpc-error.ts',
    'sources/records',
    'sources/records/model',
  ],
  storage: [
    'capability',
    'governance/ledger.ts',
    'sources/intents/log/execution-log.ts',
    'sources/records/record-store.ts',
    'sources/records/record-sink.ts',
    'sources/records/model',
  ],
  runtime: [
    'capability',
    'contracts',
    'upstream',
    'yaml',
    'sources',
    'sources/manifest',
    'sources/definitions',
    'sources/intents',
    'sources/records',
    'sources/records/model',
    'sources/services',
    'catalog',
    'governance',
    'mcp',
    'http',
    'storage',
  ],
  cli: [
    'capability',
    'runtime',
    'mcp/rpc-error.ts',
    'mcp/to-result.ts',
    'sources/records',
    'sources/records/model',
    '',
  ],
  '': [
    'capability',
    'contracts',
    'runtime',
    'sources/manifest',
    'sources/definitions',
    'sources/intents',
    'sources/services',
  ],
}

/** Packages that only one folder may import. */
const ownedBy: Record<string, string> = {
  '@modelcontextprotocol': 'mcp',
  citty: 'cli',
  yaml: 'yaml',
  libsql: 'storage',
  '@nats-io': 'sources/intents',
}

const root = path.resolve('src')
const files = globSync('**/*.ts', { cwd: root })

/** The deepest folder in the table that contains the file. */
const folderOf = (file: string): string =>
  Object.keys(mayImport)
    .filter((folder) => file.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0] ?? ''

const importsOf = (file: string): string[] =>
  [...readFileSync(path.join(root, file), 'utf8').matchAll(/(?:from|import\() ?'([^']+)'/g)].map(
    ([, specifier]) => specifier ?? '',
  )

/** A table folder covers its own files, but not a nested folder with its own row. */
const covers = (entry: string, target: string): boolean =>
  entry in mayImport
    ? folderOf(target) === entry
    : target === entry || target.startsWith(`${entry}/`)

test('every entry of the table exists', () => {
  const missing = Object.values(mayImport)
    .flat()
    .filter(
      (entry) =>
        entry !== '' && !files.some((file) => file === entry || file.startsWith(`${entry}/`)),
    )
  expect(missing).toEqual([])
})

test('every folder of src is in the table', () => {
  expect(files.length).toBeGreaterThan(50)
  const unlisted = files.filter((file) => folderOf(file) === '' && file !== 'index.ts')
  expect(unlisted).toEqual([])
})

test('a folder imports only from the folders its row allows', () => {
  const violations = files.flatMap((file) =>
    importsOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => path.relative(root, path.resolve(root, path.dirname(file), specifier)))
      .filter((target) => {
        const importer = folderOf(file)
        return (
          importer !== folderOf(target) &&
          !mayImport[importer]?.some((entry) => covers(entry, target))
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
          ([name, owner]) => specifier.startsWith(name) && folderOf(file) !== owner,
        ),
      )
      .map((specifier) => `${file} imports ${specifier}`),
  )
  expect(violations).toEqual([])
})
