import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aManifest, anInterface, toYaml } from '../support/a-manifest.ts'
import { aConfig, aProject, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const hostile =
  'Ends | the row. </details> <b>@acme/team</b> [x](https://evil.example) #12 GH-12 0123456789abcdef `code`'
const many = (folder: string, category: string, verb: string) => ({
  [`many/${folder}/drawbridge.yaml`]: aConfig(),
  ...Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [
      `many/${folder}/tools/t${index}.ts`,
      aToolModule({
        name: `tool_${index}`,
        category,
        description: `${verb} ${index} <${index}> @${index}.`.repeat(40),
      }),
    ]),
  ),
})

const cwd = await aSharedProject({
  'base/agent.yaml': toYaml(aManifest({ interfaces: [anInterface({ auth: 'none' })] })),
  'head/agent.yaml': toYaml(
    aManifest({
      identity: { owner: 'another-team' },
      interfaces: [anInterface({ auth: 'none', endpoint: 'http://evil.example/mcp?key=hidden' })],
    }),
  ),
  'reworded/agent.yaml': toYaml(
    aManifest({
      identity: { description: hostile },
      interfaces: [anInterface({ auth: 'none' })],
    }),
  ),
  'same/agent.yaml': toYaml(aManifest({ interfaces: [anInterface({ auth: 'none' })] })),
  ...Object.fromEntries(
    ['old', 'new'].flatMap((state) => [
      [
        `handlers/${state}/drawbridge.yaml`,
        'sources: [{ manifest: agent.yaml, handlers: ./handlers.ts }]',
      ],
      [`handlers/${state}/handlers.ts`, "import 'a-package-that-is-not-installed'\n"],
      [
        `handlers/${state}/agent.yaml`,
        toYaml(
          aManifest({
            interfaces: [
              anInterface({ auth: 'none', endpoint: `https://${state}.acme.example/mcp` }),
            ],
          }),
        ),
      ],
    ]),
  ),
  'broken/drawbridge.yaml': 'sources: [{ definitions: ./tool.ts }, { definitions: ./ping.ts }]',
  'broken/tool.ts': 'export const one = {',
  'broken/ping.ts': aToolModule({ name: 'ping' }),
  ...many('read', 'read', 'Reads'),
  ...many('delete', 'delete', 'Reads'),
  ...many('reworded', 'read', 'Looks up'),
})

const diff = (...words: string[]) => drawbridge(['diff', ...words], { cwd })

describe('diff --format markdown', () => {
  test('has a headline with totals, the serious changes in a table, and the rest folded', async () => {
    const { code, stdout } = await diff(
      'base/agent.yaml',
      'head/agent.yaml',
      '--format',
      'markdown',
    )

    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^### Drawbridge.*\n\n\*\*Review needed:\*\* \d+ changes, 0 breaking, 4 w/,
    )
    const [table = '', folded = ''] = stdout.split('<details>')
    expect(table).toMatch(/\| widening \| .*agent\.yaml.* \| .*moved from the host agents\.acme/)
    expect(table).toMatch(/no longer encrypted/)
    expect(folded).toMatch(/<summary>\d+ other changes?, \d+ to review<\/summary>/)
    expect(folded).toMatch(
      /\| to review \| .*The owner changed from acme-fulfilment to another-team/,
    )
    expect(stdout).not.toContain('hidden')
  })

  test('texts of a source are no markup, no links, no mentions and no ends of a row', async () => {
    const { stdout } = await diff('base/agent.yaml', 'reworded/agent.yaml', '--format', 'markdown')
    const row = stdout.split('\n').find((line) => line.includes('Ends')) ?? ''

    expect(row.match(/(?<!\\)\|/g)).toHaveLength(4)
    expect(row).not.toMatch(/<b>|<\/details>|@acme|https:|(?<!\\)[`[]|#12|GH-12|0123456789/)
    expect(stdout.match(/<\/details>/g)).toHaveLength(1)
  })

  test('the same change of several tools is one row, and the length is bounded', async () => {
    const { stdout } = await diff('many/read', 'many/delete', '--format', 'markdown')

    expect(stdout).toMatch(/tool\\_0, tool\\_1, tool\\_10 and 197 more/)
    expect(stdout.length).toBeLessThan(65_536)
  })

  test('rows beyond the limit are counted', async () => {
    const { stdout } = await diff('many/read', 'many/reworded', '--format', 'markdown')

    expect(stdout).toMatch(/\| … \| \| \d+ more \|/)
    expect(stdout.length).toBeLessThan(65_536)
  })

  test('says that nothing widens or breaks', async () => {
    const { code, stdout } = await diff('base/agent.yaml', 'same/agent.yaml', '--format=markdown')

    expect(code).toBe(0)
    expect(stdout).toMatch(/Nothing widens or breaks: 0 changes/)
  })
})

interface Location {
  readonly physicalLocation: {
    readonly artifactLocation: { readonly uri: string }
    readonly region?: { readonly startLine: number; readonly startColumn?: number }
  }
}

interface Result {
  readonly ruleId: string
  readonly ruleIndex: number
  readonly level: string
  readonly message: { readonly text: string }
  readonly locations: readonly Location[]
  readonly relatedLocations?: readonly Location[]
  readonly partialFingerprints: Readonly<Record<string, string>>
}

interface Log {
  readonly $schema: string
  readonly version: string
  readonly runs: readonly {
    readonly tool: {
      readonly driver: {
        readonly name: string
        readonly rules: readonly {
          readonly id: string
          readonly shortDescription: { readonly text: string }
        }[]
      }
    }
    readonly results: readonly Result[]
  }[]
}

const sarif = async (...words: string[]) => {
  const { stdout } = await diff(...words, '--format', 'sarif')
  return { stdout, log: JSON.parse(stdout) as Log }
}

describe('diff --format sarif', () => {
  test('has what SARIF 2.1.0 and code scanning require', async () => {
    const { log } = await sarif('base/agent.yaml', 'head/agent.yaml')

    expect(log).toMatchObject({ $schema: expect.stringMatching(/sarif/), version: '2.1.0' })
    const [run] = log.runs
    expect(run?.tool.driver.name).toBe('drawbridge')
    const rules = run?.tool.driver.rules ?? []
    const ids = rules.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { shortDescription } of rules) expect(shortDescription.text).not.toBe('')
    expect(run?.results.length).toBeGreaterThan(2)
    for (const result of run?.results ?? []) {
      expect(ids[result.ruleIndex]).toBe(result.ruleId)
      expect(['error', 'warning', 'note']).toContain(result.level)
      expect(result.message.text).not.toBe('')
      expect(Object.values(result.partialFingerprints)).toEqual([expect.any(String)])
      for (const { physicalLocation } of result.locations)
        expect(physicalLocation.artifactLocation.uri).toMatch(/^[\w%./-]+$/)
    }
  })

  test('a widening change is an error at its line in the new state', async () => {
    const { log } = await sarif('base/agent.yaml', 'head/agent.yaml')
    const moved = log.runs[0]?.results.find(({ message }) => /moved from/.test(message.text))

    expect(moved).toMatchObject({ ruleId: 'host_changed', level: 'error' })
    const { artifactLocation, region } = moved?.locations[0]?.physicalLocation ?? {}
    expect(artifactLocation?.uri).toBe('head/agent.yaml')
    expect(region?.startLine).toBeGreaterThan(1)
  })

  test('a removal is at its place in the old state', async () => {
    const { log } = await sarif('many/read', 'base/agent.yaml')
    const removed = log.runs[0]?.results.find(({ ruleId }) => ruleId === 'capability_removed')

    expect(removed).toMatchObject({
      level: 'warning',
      locations: [{ physicalLocation: { artifactLocation: { uri: 'many/read/tools/t0.ts' } } }],
    })
  })

  test('a removal from a state outside of the repository points into the repository', async () => {
    const { stdout } = await drawbridge(
      ['diff', '../many/read', 'agent.yaml', '--format', 'sarif'],
      { cwd: path.join(cwd, 'base') },
    )
    const log = JSON.parse(stdout) as Log
    const removed = log.runs[0]?.results.find(({ ruleId }) => ruleId === 'capability_removed')

    expect(removed?.locations[0]?.physicalLocation.artifactLocation.uri).toBe('agent.yaml')
    expect(removed?.relatedLocations?.[0]?.physicalLocation.artifactLocation.uri).toMatch(
      /^file:\/\/.*\/many\/read\/tools\/t0\.ts$/,
    )
  })

  test('is the same every time, and has no results without changes', async () => {
    const [first, second] = [
      await sarif('base/agent.yaml', 'head/agent.yaml'),
      await sarif('base/agent.yaml', 'head/agent.yaml'),
    ]
    expect(second.stdout).toBe(first.stdout)
    expect((await sarif('base/agent.yaml', 'same/agent.yaml')).log.runs[0]?.results).toEqual([])
  })
})

test.each([
  ['--format xml', /--format must be one of text, json, markdown, sarif/],
  ['--json --format sarif', /exclude each other/],
])('`diff %s` exits with 2', async (flags, message) => {
  const { code, stdout, stderr } = await diff(
    'base/agent.yaml',
    'same/agent.yaml',
    ...flags.split(' '),
  )

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('the same files in another folder are no difference', async () => {
  const { stdout } = await diff(path.join(cwd, 'base/agent.yaml'), 'same/agent.yaml', '--json')

  expect(JSON.parse(stdout)).toEqual([])
})

test('handlers that do not load do not hide the manifest', async () => {
  const { code, stdout } = await diff('handlers/old', 'handlers/new')

  expect(code).toBe(1)
  expect(stdout).toMatch(/error .*a-package-that-is-not-installed/)
  expect(stdout).toMatch(/widening .*moved from the host old\.acme\.example to new\.acme\.example/)
})

test('the same folder behind a symbolic link is no difference', async () => {
  const folder = await aProject({
    'release/drawbridge.yaml': aConfig(),
    'release/tools/ping.ts': aToolModule({ name: 'ping' }),
  })
  symlinkSync('release', path.join(folder, 'current'))

  const { code, stdout } = await drawbridge(['diff', 'release', 'current', '--json'], {
    cwd: folder,
  })

  expect({ code, differences: JSON.parse(stdout) }).toEqual({ code: 0, differences: [] })
})

describe('a part that does not load in either state', () => {
  test('is an error with its file, and the exit code is 1', async () => {
    const { code, stdout } = await diff('broken', 'broken', '--json')

    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({
        noun: 'source',
        kind: 'load_error',
        effect: 'neutral',
        message: expect.stringMatching(
          /in the old and in the new state may hide changes: .*tool\.ts/,
        ),
        at: expect.stringMatching(/^broken\/tool\.ts:1:\d+$/),
      }),
    ])
  })

  test.each([
    ['text', /^source .*\n {2}error .*may hide changes.*\n0 changes, .*, 1 error$/],
    ['markdown', /\*\*Review needed:\*\* 0 changes, .*, 1 error\.[\s\S]*\| error \| .*tool\.ts/],
    ['sarif', /"ruleId": "load_error"[\s\S]*"level": "error"/],
  ])('is in --format %s', async (format, expected) => {
    const { code, stdout } = await diff('broken', 'broken', '--format', format)

    expect(code).toBe(1)
    expect(stdout.trimEnd()).toMatch(expected)
  })
})
