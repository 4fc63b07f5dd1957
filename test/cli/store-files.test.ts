import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const files = {
  'drawbridge.yaml': aConfig('  - { records: ./people.db, mount: /mcp/people }\n'),
  'tools/ping.ts': aToolModule({ name: 'ping' }),
  'notes.ndjson': '{"id":"1","text":"hello"}\n',
  'streams.yaml': `streams:
  notes:
    connector: files
    primary_key: [id]
    schema: { type: object, properties: { id: { type: string }, text: { type: string } } }
`,
}
const ledger = 'drawbridge.db'
const people = 'people.db'
const importNotes = [
  ...['records', 'import', 'notes.ndjson', '--streams', 'streams.yaml'],
  ...['--stream', 'notes', '--connection', 'mine', '--store', people],
]

test('stores and what is beside them are readable by their owner only', async () => {
  const cwd = await aProject(files)

  const call = await drawbridge(['call', 'ping'], { cwd })
  const imported = await drawbridge(importNotes, { cwd })
  const check = await drawbridge(['check'], { cwd })

  expect([call.code, imported.code, check.code]).toEqual([0, 0, 0])
  for (const name of [ledger, `${ledger}.approver`, people])
    expect([name, statSync(path.join(cwd, name)).mode & 0o777]).toEqual([name, 0o600])
  expect(call.stderr + check.stdout).not.toContain('Other users')
})

test('a store that other users can read is a warning of check and of the start', async () => {
  const cwd = await aProject(files)
  await drawbridge(['call', 'ping'], { cwd })
  await drawbridge(importNotes, { cwd })
  chmodSync(path.join(cwd, ledger), 0o640)
  chmodSync(path.join(cwd, people), 0o604)

  const check = await drawbridge(['check'], { cwd })
  const call = await drawbridge(['call', 'ping'], { cwd })

  expect(check.code).toBe(0)
  expect(check.stdout).toMatch(/drawbridge\.db \(mode 640\).*chmod 600/)
  expect(check.stdout).toMatch(/people\.db \(mode 604\).*chmod 600/)
  expect(call.code).toBe(0)
  expect(call.stderr).toMatch(/drawbridge\.db \(mode 640\).*chmod 600/)
})

test('a store that is a link to a missing file is refused, and the file is not created', async () => {
  const cwd = await aProject(files)
  mkdirSync(path.join(cwd, 'disk'))
  for (const name of [ledger, people])
    symlinkSync(path.join(cwd, 'disk', name), path.join(cwd, name))

  const results = await Promise.all(
    [['call', 'ping'], ['serve', '--stdio'], ['approvals'], importNotes].map((args) =>
      drawbridge(args, { cwd }),
    ),
  )
  const check = await drawbridge(['check'], { cwd })

  for (const { code, stderr } of results) {
    expect(code).toBe(2)
    expect(stderr).toContain('is a symbolic link to a file that does not exist. Correct')
  }
  expect(check.code).toBe(1)
  expect(check.stdout.match(/symbolic link to a file that does not exist/g)).toHaveLength(2)
  expect([ledger, people].map((name) => existsSync(path.join(cwd, 'disk', name)))).toEqual([
    false,
    false,
  ])
})
