import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { createDrawbridge, definitionSource, z } from '../../src/index.ts'
import { aProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const aTool = (parts: object = {}) => ({
  description: 'Does something.',
  inputSchema: z.object({}),
  execute: async () => ({}),
  ...parts,
})

async function serve(tools: object, categories = {}) {
  const bridge = createDrawbridge({ sources: [definitionSource(tools, { categories })] })
  await bridge.ready
  const { tools: listed } = await bridge.list()
  return {
    diagnostics: bridge.diagnostics,
    hints: Object.fromEntries(listed.map(({ name, annotations }) => [name, annotations])),
  }
}

describe('a tool without a category', () => {
  test('has the hints that MCP assumes of a tool without annotations', async () => {
    const { hints } = await serve({ get_weather: aTool() })

    expect(hints.get_weather).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    })
  })

  test.each([
    ['get_weather', 'read', 'the verb "get"'],
    ['listAllUsers', 'read', 'the verb "list"'],
    ['deleteUser', 'delete', 'the verb "delete"'],
    ['users.remove', 'delete', 'the verb "remove"'],
    ['create-issue', 'write', 'the verb "create"'],
    ['calculate_tax', 'analysis', 'the verb "calculate"'],
    ['weather', 'write', 'its name does not tell'],
  ])('%s: %s is proposed, with the reason and the line to add', async (name, category, reason) => {
    const { diagnostics } = await serve({ [name]: aTool() })

    const [asked] = diagnostics.filter(({ code }) => code === 'category_missing')
    expect(asked).toMatchObject({ severity: 'warning' })
    expect(asked?.message).toContain(`Proposal: ${category}`)
    expect(asked?.message).toContain(reason)
    expect(asked?.message).toContain(`Add metadata: { category: '${category}' }`)
    expect(asked?.message).toContain(`"${name}: ${category}" under categories`)
  })

  test.each(
    `mark_as_read get_or_create_user search_and_replace check_out_cart read_write_file fetch_and_store archive_list
    unsubscribe_list reset_view disable_check ban_lookup lookup_and_update query_database evaluate_script format_disk
    validate_and_submit parse_and_save convert_lead download_file lookup_and_frobnicate user_get create.list
    merge_pull_request push_files toggle_watch invite_user_get get_and_email`.split(/\s+/),
  )('%s: write is proposed, because it may write', async (name) => {
    const { diagnostics } = await serve({ [name]: aTool() })

    expect(diagnostics.map(({ message }) => message).join()).toContain('Proposal: write')
  })

  test.each(['find_and_delete', 'list_clear', 'get_or_drop_table', 'delete.list'])(
    '%s: delete is proposed, the worst of its verbs',
    async (name) => {
      const { diagnostics } = await serve({ [name]: aTool() })

      expect(diagnostics.map(({ message }) => message).join()).toContain('Proposal: delete')
    },
  )

  test.each([
    'get_order',
    'list_posts',
    'users.get_email',
    'find_and_count_users',
    'github__list_issues',
  ])('%s: read is proposed, because its only verb reads', async (name) => {
    const { diagnostics } = await serve({ [name]: aTool() })

    expect(diagnostics.map(({ message }) => message).join()).toContain('Proposal: read')
  })

  test('is one of many on a line for each proposal, which says that patterns work', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `get_${index}`)
    const tool = `{ description: 'x', parameters: { type: 'object', properties: {} }, handler: () => 1 }`
    const cwd = await aProject({
      'tools.js': `const tool = () => (${tool})\nexport const tools = Object.fromEntries(${JSON.stringify([...names, 'drop_all'])}.map((name) => [name, tool()]))\n`,
    })
    const { stdout } = await drawbridge(['check', 'tools.js'], { cwd })

    const lines = stdout.split('\n').filter((line) => line.includes('category_missing'))
    expect(lines).toEqual([
      expect.stringMatching(/"get_0" .* where \* in a name matches any characters\. \(and 49 more/),
      expect.stringContaining('"drop_all"'),
    ])
  })

  test('is not proposed read for a GET whose name deletes', async () => {
    const routed = {
      name: 'delete_order',
      description: 'x',
      schema: {},
      execute: () => 1,
      mcpRouting: { method: 'GET' },
    }
    const { diagnostics } = await serve([routed])

    expect(diagnostics.map(({ message }) => message).join()).toContain('Proposal: delete')
  })

  test('is proposed the category of the method that it is routed to', async () => {
    const routed = {
      name: 'orders',
      description: 'x',
      schema: {},
      execute: () => 1,
      mcpRouting: { method: 'DELETE' },
    }
    const { diagnostics } = await serve([routed])

    expect(diagnostics.map(({ message }) => message).join()).toContain(
      'Proposal: delete, because it is routed to DELETE',
    )
  })
})

test.each([
  ['category', { category: 'read' }],
  ['metadata.category', { metadata: { category: 'read' } }],
])('%s in the definition is the line that was asked for', async (_, line) => {
  const { hints, diagnostics } = await serve({ look_up: tool(aTool(line)) })

  expect(diagnostics).toEqual([])
  expect(hints.look_up).toMatchObject({ readOnlyHint: true })
})

test.each([
  [{ readOnlyHint: true }, [true, false, true, true]],
  [{ readOnlyHint: true, openWorldHint: false }, [true, false, true, false]],
  [{ readOnlyHint: false }, [false, true, false, true]],
  [{ destructiveHint: false, idempotentHint: true }, [false, false, true, true]],
])('MCP annotations %j are the declaration of the author', async (annotations, expected) => {
  const { name, inputSchema, ...rest } = { name: 'a_tool', ...aTool() }
  const { hints, diagnostics } = await serve([
    {
      name,
      inputSchema,
      description: rest.description,
      annotations,
      handler: async () => ({ content: [] }),
    },
  ])

  expect(diagnostics).toEqual([])
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = hints.a_tool ?? {}
  expect([readOnlyHint, destructiveHint, idempotentHint, openWorldHint]).toEqual(expected)
})

describe('categories of the source', () => {
  const tools = {
    get_user: aTool(),
    get_users: aTool(),
    drop_table: aTool({ category: 'delete' }),
  }

  test('fill what is missing: an exact name before a pattern, the longer pattern before the shorter', async () => {
    const { hints, diagnostics } = await serve(tools, {
      'get_*': 'read',
      '*': 'write',
      get_users: 'analysis',
    })

    expect(diagnostics).toEqual([])
    expect(hints.get_user).toMatchObject({ readOnlyHint: true, openWorldHint: true })
    expect(hints.get_users).toMatchObject({ readOnlyHint: true, openWorldHint: false })
  })

  test('a pattern does not replace a declared category; an exact name does, with a diagnostic', async () => {
    const byPattern = await serve(tools, { '*': 'read' })
    const byName = await serve(tools, { '*': 'read', drop_table: 'write' })

    expect(byPattern.hints.drop_table).toMatchObject({ readOnlyHint: false, destructiveHint: true })
    expect(byName.hints.drop_table).toMatchObject({ readOnlyHint: false, destructiveHint: false })
    expect(byName.diagnostics).toMatchObject([{ code: 'category_replaced', severity: 'info' }])
  })

  test('names and patterns that no tool has are warnings', async () => {
    const { diagnostics } = await serve(tools, { '*': 'read', get_usr: 'read', 'x*': 'read' })

    expect(diagnostics).toMatchObject([
      { code: 'category_unmatched', severity: 'warning', pointer: '/categories/get_usr' },
      { code: 'category_unmatched', severity: 'warning', pointer: '/categories/x*' },
    ])
  })

  test('an unknown category in drawbridge.yaml is an error with its line', async () => {
    const cwd = await aProject({
      'drawbridge.yaml':
        'sources:\n  - definitions: ./tools.ts\n    categories: { a: portfolio }\n',
      'tools.ts': 'export const a = 1\n',
    })
    const { code, stderr } = await drawbridge(['check'], { cwd })

    expect(code).toBe(2)
    expect(stderr).toMatch(/drawbridge\.yaml:3:\d+ \/sources\/0\/categories\/a: .*"read"/)
  })
})
