import { mkdir, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { aManifest, anInternalInterface, toYaml } from '../support/a-manifest.ts'
import { aSharedProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const manifest = toYaml(aManifest({ interfaces: [anInternalInterface()] }))

const cwd = await aSharedProject({
  'empty/agent.yaml': '',
  'spaces/agent.yaml': '\n  \n',
  'comment/agent.yaml': '# nothing yet\n',
  'list/agent.yaml': '- 1\n',
  'prose/agent.yaml': 'Dear agent, good morning.\n',
  'other/agent.yaml': 'colour: red\n',
  'two/agent.yaml': `${manifest}---\n${manifest}`,
  'openapi/agent.yaml': 'openapi: 3.1.0\ninfo: { title: Pets, version: 1.0.0 }\npaths: {}\n',
  'broken-json/agent.json': '{\n  "schema_version": "0.1",\n  "identity": {,\n}\n',
  'broken-yaml/agent.yaml': 'schema_version: "0.1"\nidentity: {\n',
  'number/agent.yaml': manifest.replace('schema_version: "0.1"', 'schema_version: 0.1'),
  'other.yaml': 'colour: red\n',
  'empty.yaml': '',
  'listed/drawbridge.yaml': 'sources: [{ manifest: ./gone.yaml }]\n',
  'listed-empty/drawbridge.yaml': 'sources: [{ manifest: ./agent.yaml }]\n',
  'listed-empty/agent.yaml': '',
  'both/agent.yaml': 'not: read\n',
  'both/drawbridge.yaml': 'sources: [{ manifest: ./real.yaml, handlers: ./handlers.js }]\n',
  'both/real.yaml': manifest,
  'both/handlers.js': 'export const lookUpOrder = () => ({})\n',
  ...Object.fromEntries(
    ['agent.yaml', 'agent.yml', 'agent.json'].map((name) => [
      `only-${name}/${name}`,
      toYaml(
        aManifest({
          capabilities: [{ protocols: ['HTTP', 'MCP'] }],
          interfaces: [
            {
              name: 'a',
              protocol: 'HTTP',
              endpoint: 'http://127.0.0.1:9',
              auth: 'none',
              privileged: false,
            },
          ],
        }),
      ),
    ]),
  ),
  'no-file/readme.txt': '',
})

beforeAll(async () => {
  const put = async (name: string, bytes: Buffer) => {
    await mkdir(path.join(cwd, path.dirname(name)), { recursive: true })
    await writeFile(path.join(cwd, name), bytes)
  }
  await put('utf16/agent.yaml', Buffer.from(`\uFEFF${manifest}`, 'utf16le'))
  await put('binary/agent.yaml', Buffer.from([1, 0, 2, 0, 255]))
  await put('latin/agent.yaml', Buffer.from('name: \xE9\n', 'latin1'))
  await put('huge/agent.yaml', Buffer.from(manifest))
  await truncate(path.join(cwd, 'huge/agent.yaml'), 3 * 1024 ** 3)
  await put('utf16.yaml', Buffer.from(`\uFEFF${manifest}`, 'utf16le'))
  await mkdir(path.join(cwd, 'folder/agent.yaml'), { recursive: true })
})

const run = (...args: string[]) => drawbridge(args, { cwd })

describe('a file that is no manifest is reported with its own name', () => {
  test.each([
    ['empty/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: The file is empty/],
    ['spaces/agent.yaml', /agent\.yaml:\d+:\d+ manifest_unreadable: The file is empty/],
    ['comment/agent.yaml', /agent\.yaml:\d+:\d+ manifest_unreadable: A manifest must be a mapping/],
    ['list/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: A manifest must be a mapping/],
    ['prose/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: A manifest must be a mapping/],
    ['other/agent.yaml', /agent\.yaml:1:1 field_unknown: \/colour/],
    ['two/agent.yaml', /agent\.yaml:\d+:1 manifest_unreadable: .*several YAML documents/],
    ['openapi/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: This is an OpenAPI document/],
    ['broken-json/agent.json', /agent\.json:3:\d+ manifest_unreadable: /],
    ['broken-yaml/agent.yaml', /agent\.yaml:3:1 manifest_unreadable: /],
    ['number/agent.yaml', /agent\.yaml:1:17 manifest_invalid: .*must be the string "0\.1"/],
    ['utf16/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: .*UTF-16/],
    ['binary/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: .*binary/],
    ['latin/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: .*not valid UTF-8/],
    ['huge/agent.yaml', /agent\.yaml:1:1 manifest_unreadable: .*larger than 8 MB/],
    ['listed', /gone\.yaml:1:1 manifest_unreadable: .*gone\.yaml does not exist/],
    ['listed-empty', /agent\.yaml:1:1 manifest_unreadable: The file is empty/],
  ])('check %s', async (what, message) => {
    const { code, stdout, stderr } = await run('check', what)

    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(message)
    expect(stdout).not.toContain('drawbridge.yaml')
  })

  test.each([
    [
      'folder/agent.yaml',
      /folder\/agent\.yaml is a folder without drawbridge\.yaml and agent\.yaml/,
    ],
    ['no-file', /no-file is a folder without drawbridge\.yaml and agent\.yaml/],
    ['gone.yaml', /gone\.yaml does not exist/],
    ['other.yaml', /other\.yaml is neither an agent manifest .* nor a configuration/],
    ['empty.yaml', /empty\.yaml is empty/],
    ['utf16.yaml', /utf16\.yaml is encoded as UTF-16/],
  ])('check %s cannot be run', async (what, message) => {
    const { code, stdout, stderr } = await run('check', what)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('project reports it in the same way', async () => {
    const { code, stdout, stderr } = await run('project', 'utf16/agent.yaml')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/agent\.yaml:1:1 manifest_unreadable: .*UTF-16/)
  })
})

describe('a folder', () => {
  test.each(['agent.yaml', 'agent.yml', 'agent.json'])(
    'with only an %s is opened',
    async (name) => {
      const folder = `only-${name}`
      const [checked, listed, projected] = await Promise.all([
        run('check', folder),
        run('list', folder),
        run('project', folder),
      ])

      expect(checked.stdout).toMatch(/^1 tool, 0 errors/m)
      expect(listed.stdout).toContain('look-up-order')
      expect(projected.code).toBe(0)
    },
  )

  test('with a drawbridge.yaml and an agent.yaml is opened by its drawbridge.yaml', async () => {
    const { code, stdout } = await run('list', 'both')
    expect(code).toBe(0)
    expect(stdout).toContain('real.yaml')
  })
})
