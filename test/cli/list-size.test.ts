import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const tools = (folder: string, count: number, description = 'Small.') =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `${folder}/tool${index}.ts`,
      aToolModule({ name: `${folder.split('/')[0]}_${index}`, description }),
    ]),
  )

const cwd = await aSharedProject({
  'small/drawbridge.yaml': aConfig('  - { definitions: ./more/*.ts, mount: /mcp/more }\n'),
  'small/tools/short.ts': aToolModule({ name: 'short' }),
  'small/tools/long.ts': aToolModule({ name: 'long', description: 'Grüße. '.repeat(50) }),
  'small/more/other.ts': aToolModule({ name: 'other', schema: 'z.object({ id: z.string() })' }),
  'many.yaml': 'sources: [{ definitions: ./many/*.ts }]\n',
  ...tools('many', 41),
  'few.yaml': 'sources: [{ definitions: ./few/*.ts }]\n',
  ...tools('few', 40),
  'large.yaml':
    'sources: [{ definitions: ./large/*.ts }, { definitions: ./few/*.ts, mount: /mcp/few }]\n',
  ...tools('large', 10, 'Explains everything at length. '.repeat(400)),
})

interface Item {
  readonly id: string
  readonly kind: string
  readonly mount: string
  readonly bytes: number
  readonly tokens: number
  readonly parts: Readonly<Record<string, number>>
}

const sizes = async (...words: string[]) => {
  const { stdout } = await drawbridge(['list', 'small', '--size', '--json', ...words], { cwd })
  return JSON.parse(stdout) as Item[]
}

describe('list --size', () => {
  test('measures the bytes of each tool as they are sent, the largest first', async () => {
    const listed = await drawbridge(['list', 'small', '--tools', '--mount', '/mcp'], { cwd })
    const list = JSON.parse(listed.stdout) as { tools: Record<string, unknown>[] }
    const found = await sizes('--mount', '/mcp')

    const [total, ...items] = found
    expect(total).toMatchObject({ id: '/mcp', kind: 'mount', tools: 2 })
    expect(total?.bytes).toBe(Buffer.byteLength(JSON.stringify(list)))
    expect(items.map(({ id }) => id)).toEqual(['long', 'short'])
    for (const { id, bytes, tokens, parts } of items) {
      const tool = list.tools.find(({ name }) => name === id) ?? {}
      expect(bytes).toBe(Buffer.byteLength(JSON.stringify(tool)))
      expect(parts).toMatchObject({
        description: Buffer.byteLength(JSON.stringify(tool.description)),
        inputSchema: Buffer.byteLength(JSON.stringify(tool.inputSchema)),
        outputSchema: 0,
        _meta: Buffer.byteLength(JSON.stringify(tool._meta)),
      })
      expect(Object.values(parts).reduce((sum, size) => sum + size)).toBe(bytes)
      expect(tokens).toBe(Math.ceil((bytes - (parts._meta ?? 0)) / 4))
    }
  })

  test('has totals for each mount', async () => {
    const found = await sizes()
    const totals = found.filter(({ kind }) => kind === 'mount')

    expect(totals.map(({ id }) => id)).toEqual(['/mcp', '/mcp/more'])
    for (const { id, tokens } of totals) {
      const items = found.filter(({ kind, mount }) => kind === 'tool' && mount === id)
      expect(tokens).toBe(items.reduce((sum, one) => sum + one.tokens, 0))
    }
  })

  test('prints a table, and how tokens are estimated', async () => {
    const { code, stdout } = await drawbridge(['list', 'small', '--size'], { cwd })

    expect(code).toBe(0)
    expect(stdout).toMatch(/tokens +bytes +description +inputSchema +outputSchema +_meta +tool/)
    expect(stdout).toMatch(
      /\d+ +\d.* long\n.* short\n\/mcp: 2 tools, [\d,]+ bytes, about \d+ tokens/,
    )
    expect(stdout).toMatch(/four bytes of JSON, without _meta/)
  })
})

describe('check', () => {
  const check = async (what: string) => {
    const { code, stdout } = await drawbridge(['check', what, '--json'], { cwd })
    const found = JSON.parse(stdout) as { code: string; severity: string; message: string }[]
    return { code, found: found.filter((one) => one.code.startsWith('tools_')) }
  }

  test('warns about more tools than a client takes', async () => {
    const { code, found } = await check('many.yaml')

    expect(code).toBe(0)
    expect(found).toEqual([
      expect.objectContaining({
        code: 'tools_many',
        severity: 'warning',
        message: expect.stringMatching(/^\/mcp lists 41 tools, .*\(Cursor 40\).*mount/),
      }),
    ])
  })

  test('warns about a large list once for its mount, with the five largest tools', async () => {
    const { found } = await check('large.yaml')

    expect(found.map((one) => one.code)).toEqual(['tools_large'])
    expect(found[0]?.message).toMatch(/Claude Code 25,000/)
    expect(found[0]?.message.match(/large_\d \d,\d{3}/g)).toHaveLength(5)
  })

  test('says nothing about a small server', async () => {
    expect((await check('few.yaml')).found).toEqual([])
    expect((await check('small')).found).toEqual([])
  })
})
