import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

/** A line of the file, and what must be said of which column of it. */
const lines: readonly (readonly [string, string, RegExp] | readonly [string])[] = [
  ['nmae: acme', '1', /"nmae".*"name"/],
  ['quux: 1', '1', /"quux"/],
  ['version: 1', '10', /version/],
  ['description: env://NO_SUCH_NAME', '14', /env:\/\/NO_SUCH_NAME/],
  ['http:'],
  ['  prot: 1', '3', /"prot".*"port"/],
  ['  port: 70000', '9', /port/],
  ['  origins: [nowhere]', '13', /origins/],
  ['  tokens:'],
  ['    - { hash: secret, subject: ann }', '15', /sha256/],
  [
    `    - { hash: "sha256:${'0'.repeat(64)}", subjct: ann, subject: b }`,
    '90',
    /"subjct".*"subject"/,
  ],
  ['policy:'],
  ['  limits:'],
  ['    timeouts: 1', '5', /"timeouts".*"timeout"/],
  ['mounts:'],
  ['  /mcp: { nams: literal }', '11', /"nams".*"names"/],
  ['sources:'],
  ['  - definitions: ./tools/*.ts'],
  ['    prefx: a', '5', /"prefx".*"prefix"/],
  ['  - defnitions: ./tools/*.ts', '5', /definitions/],
]

/** Files that are wrong in one way, and what is said of them. */
const broken: Readonly<Record<string, { text: string; says: RegExp }>> = {
  'broken YAML': { text: 'name: acme\nhttp: [1, 2\n', says: /:[23]:\d+ / },
  'a key twice': { text: 'name: acme\nname: other\n', says: /:2:1 .*unique/i },
  'no mapping at all': { text: '- name\n', says: /:1:1 / },
  'an empty list of tokens': { text: 'http:\n  tokens: []\n', says: /:2:11 .*tokens/ },
  'a name of the environment that is not there': {
    text: 'name: env://NO_SUCH_NAME\n',
    says: /:1:7 .*env:\/\/NO_SUCH_NAME/,
  },
}
const toFile = (name: string) => `${name.replaceAll(' ', '-')}.yaml`

const folder = await aSharedProject({
  'drawbridge.yaml': aConfig(),
  'tools/ping.ts': aToolModule({ name: 'ping' }),
  'deep/er/drawbridge.yaml': aConfig(),
  'deep/er/tools/ping.ts': aToolModule({ name: 'ping' }),
  'secretive.yaml': 'description: env://GREETING_OF_OURS\nsources: [{ definitions: ./leak.ts }]\n',
  'leak.ts': aToolModule({
    name: 'leak',
    body: 'return "it is " + process.env.GREETING_OF_OURS + " and " + process.env.OUR_API_KEY',
  }),
  'wrong.yaml': lines.map(([line]) => `${line}\n`).join(''),
  ...Object.fromEntries(Object.entries(broken).map(([name, { text }]) => [toFile(name), text])),
})

describe('a configuration that cannot be understood ends with 2', () => {
  test('and says every complaint at once, each with its place and the nearest key', async () => {
    const file = path.join(folder, 'wrong.yaml')

    const { code, stdout, stderr } = await drawbridge(['check', '--json', file])
    const complaints = stderr.trim().split('\n').sort(byPlace)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(complaints).toEqual(
      lines.flatMap(([, column, words], index) =>
        words ? [expect.stringMatching(`^${file}:${index + 1}:${column} .*${words.source}`)] : [],
      ),
    )
  })

  test.each(Object.keys(broken))('and one clear line for %s', async (name) => {
    const { stdout, stderr, code } = await drawbridge(['check', toFile(name)], { cwd: folder })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(broken[name]?.says ?? '')])
    expect(stderr).toContain(path.join(folder, toFile(name)))
  })
})

describe('what is served can be', () => {
  test.each([
    ['the folder one is in', []],
    ['a folder', ['.']],
    ['a file', ['drawbridge.yaml']],
    ['a module', ['tools/ping.ts']],
    ['a configuration further down, whose paths start from it', ['deep/er']],
  ])('%s', async (_, words) => {
    const { code, stdout } = await drawbridge(['list', ...words, '--json'], { cwd: folder })

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'ping' }])
  })
})

test('a value of the environment never leaves in an answer', async () => {
  const env = { GREETING_OF_OURS: 'value-from-outside', OUR_API_KEY: 'key-from-outside' }

  const { stdout } = await drawbridge(['call', 'secretive.yaml', 'leak'], { cwd: folder, env })

  expect(stdout).toBe('it is [withheld] and [withheld]\n')
})

const placeOf = (line: string) => Number(line.match(/:(\d+):\d+ /)?.[1])
const byPlace = (a: string, b: string) => placeOf(a) - placeOf(b)
