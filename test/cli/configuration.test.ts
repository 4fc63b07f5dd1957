import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

/** A line of the file, the column of its error, and the message. */
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

/** Files with one error each, and its message. */
const invalidFiles: Readonly<Record<string, { text: string; message: RegExp }>> = {
  'invalid YAML': { text: 'name: acme\nhttp: [1, 2\n', message: /:[23]:\d+ / },
  'a duplicate key': { text: 'name: acme\nname: other\n', message: /:2:1 .*unique/i },
  'a list instead of a mapping': { text: '- name\n', message: /:1:1 / },
  'an empty list of tokens': { text: 'http:\n  tokens: []\n', message: /:2:11 .*tokens/ },
  'a source of two kinds': {
    text: 'sources:\n  - manifest: a.yaml\n    definitions: b.ts\n',
    message: /:3:5 .*manifest and definitions.*two sources/,
  },
  'an unset environment variable': {
    text: 'name: env://NO_SUCH_NAME\n',
    message: /:1:7 .*env:\/\/NO_SUCH_NAME/,
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
  ...Object.fromEntries(
    Object.entries(invalidFiles).map(([name, { text }]) => [toFile(name), text]),
  ),
})

describe('an invalid configuration makes the command exit with 2', () => {
  test('and reports all errors at once, each with its position and the most similar key', async () => {
    const file = path.join(folder, 'wrong.yaml')

    const { code, stdout, stderr } = await drawbridge(['check', '--json', file])
    const errors = stderr.trim().split('\n').sort(byLineNumber)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(errors).toEqual(
      lines.flatMap(([, column, message], index) =>
        message
          ? [expect.stringMatching(`^${file}:${index + 1}:${column} .*${message.source}`)]
          : [],
      ),
    )
  })

  test.each(Object.keys(invalidFiles))('and prints one line for %s', async (name) => {
    const { stdout, stderr, code } = await drawbridge(['check', toFile(name)], { cwd: folder })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(invalidFiles[name]?.message ?? ''),
    ])
    expect(stderr).toContain(path.join(folder, toFile(name)))
  })
})

describe('the target of a command can be', () => {
  test.each([
    ['the current folder', []],
    ['a folder', ['.']],
    ['a configuration file', ['drawbridge.yaml']],
    ['a module', ['tools/ping.ts']],
    ['a nested folder, whose configuration has relative paths', ['deep/er']],
  ])('%s', async (_, args) => {
    const { code, stdout } = await drawbridge(['list', ...args, '--json'], { cwd: folder })

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'ping' }])
  })
})

test('values of environment variables are redacted from answers', async () => {
  const env = { GREETING_OF_OURS: 'value-from-outside', OUR_API_KEY: 'key-from-outside' }

  const { stdout } = await drawbridge(['call', 'secretive.yaml', 'leak'], { cwd: folder, env })

  expect(stdout).toBe('it is [withheld] and [withheld]\n')
})

const lineNumberOf = (line: string) => Number(line.match(/:(\d+):\d+ /)?.[1])
const byLineNumber = (a: string, b: string) => lineNumberOf(a) - lineNumberOf(b)
