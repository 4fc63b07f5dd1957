import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aSharedProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

type Input = Readonly<Record<string, unknown>>

interface Row {
  /** A file of `test/fixtures/dialects`, or several. */
  readonly files: string | readonly string[]
  /** The lines under the source in `drawbridge.yaml`; none for a file that is used unchanged. */
  readonly categories?: Readonly<Record<string, string>>
  /** The served tools, with `r` for those that only read. */
  readonly tools: Readonly<Record<string, 'r' | 'w' | 'w!'>>
  readonly calls: readonly (readonly [tool: string, input: Input, result: object])[]
  readonly errors: readonly (readonly [tool: string, input: Input, text: string | RegExp])[]
  /** Codes of warnings and errors that remain, with the line of each. */
  readonly remaining?: readonly string[]
}

const png = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }
const text = (value: string) => ({ type: 'text', text: value })
const outOfOrder = /^Error: the tool is temporarily unavailable/

const rows: Readonly<Record<string, Row>> = {
  'Vercel AI SDK 6, tool() map': {
    files: 'ai-sdk-6.ts',
    categories: { getWeather: 'read', deleteReminder: 'delete' },
    tools: { deleteReminder: 'w!', getWeather: 'r' },
    calls: [
      [
        'getWeather',
        { city: 'Oslo' },
        { structuredContent: { city: 'Oslo', celsius: 21, cancellable: true, id: 'string' } },
      ],
    ],
    errors: [
      ['getWeather', { city: 'Atlantis' }, 'Error: Unknown city "Atlantis"'],
      ['getWeather', {}, /\/city/],
      ['deleteReminder', { id: '1' }, /approv/],
    ],
  },
  'Vercel AI SDK 4, parameters': {
    files: 'ai-sdk-4.ts',
    categories: { convertCurrency: 'analysis', 'list*': 'read' },
    tools: { convertCurrency: 'r', listCurrencies: 'r' },
    calls: [
      ['convertCurrency', { amount: 3 }, { content: [text('3 EUR')] }],
      ['listCurrencies', { letter: 'E' }, { structuredContent: ['EUR'] }],
    ],
    errors: [
      ['convertCurrency', { amount: -1 }, 'Error: The amount must not be negative'],
      ['listCurrencies', { letter: 'EU' }, /\/letter/],
    ],
  },
  'Vercel AI SDK, generator and toModelOutput': {
    files: 'ai-sdk-streaming.ts',
    categories: { run_plugin: 'side_effect' },
    tools: { run_plugin: 'w', search_docs: 'r' },
    calls: [
      ['search_docs', { query: 'egress' }, { content: [text('About egress'), png] }],
      ['run_plugin', { plugin: 'a', more: 1 }, { structuredContent: { plugin: 'a', more: 1 } }],
    ],
    errors: [['search_docs', { query: '' }, 'Error: The query is empty']],
    remaining: ['tool_left_out 28'],
  },
  'OpenAI Chat Completions with a map of functions': {
    files: 'openai-chat.ts',
    categories: { get_order: 'read', cancel_order: 'write' },
    tools: { cancel_order: 'w', get_order: 'r' },
    calls: [
      ['get_order', { order_id: '7' }, { content: [text('{"order_id":"7","status":"shipped"}')] }],
    ],
    errors: [
      ['get_order', { order_id: '7', extra: 1 }, /extra/],
      ['cancel_order', { order_id: '7' }, outOfOrder],
    ],
  },
  'OpenAI Responses with functions in camelCase': {
    files: 'openai-responses.ts',
    categories: { lookup_customer: 'read' },
    tools: { lookup_customer: 'r' },
    calls: [
      [
        'lookup_customer',
        { email: 'a@b.c', limit: null },
        { structuredContent: { email: 'a@b.c', name: 'Ann' } },
      ],
    ],
    errors: [['lookup_customer', { email: 'a@b.c' }, /limit/]],
    remaining: ['tool_left_out 2'],
  },
  'OpenAI runTools()': {
    files: 'openai-run-tools.ts',
    categories: { add_to_calendar: 'write' },
    tools: { add_to_calendar: 'w' },
    calls: [
      [
        'add_to_calendar',
        { title: 'Tea', day: 4 },
        { structuredContent: { added: 'Tea', day: 4 } },
      ],
    ],
    errors: [['add_to_calendar', { title: 'Tea', day: 40 }, outOfOrder]],
  },
  'OpenAI Agents SDK': {
    files: 'openai-agents.ts',
    categories: { issue_refund: 'write' },
    tools: { issue_refund: 'w' },
    calls: [['issue_refund', { amount: 10 }, { structuredContent: { refunded: 10 } }]],
    errors: [['issue_refund', { amount: 1000 }, /^Error: This call needs an approval/]],
  },
  'Anthropic with a map of functions': {
    files: 'anthropic.ts',
    categories: { get_stock_price: 'read' },
    tools: { get_stock_price: 'r' },
    calls: [
      [
        'get_stock_price',
        { ticker: 'ACME' },
        { structuredContent: { ticker: 'ACME', price: 12.5 } },
      ],
    ],
    errors: [['get_stock_price', { ticker: 'NONE' }, 'Unknown ticker NONE']],
    remaining: ['tool_left_out 17'],
  },
  'Anthropic betaZodTool()': {
    files: 'anthropic-runner.ts',
    categories: { read_manual: 'read' },
    tools: { read_manual: 'r' },
    calls: [['read_manual', { section: 'A' }, { content: [text('A, page 1'), png] }]],
    errors: [
      ['read_manual', { section: 'A', page: 12 }, 'The manual has nine pages.'],
      ['read_manual', { section: '' }, /\/section/],
    ],
  },
  'LangChain tool(), DynamicStructuredTool, DynamicTool': {
    files: 'langchain.ts',
    categories: { search_notes: 'read', shout: 'analysis' },
    tools: { multiply: 'r', search_notes: 'r', shout: 'r' },
    calls: [
      ['multiply', { a: 6, b: 7 }, { content: [text('42')] }],
      ['search_notes', { query: 'tea' }, { content: [text('1 note about tea')] }],
      ['shout', { input: 'hello' }, { content: [text('HELLO')] }],
    ],
    errors: [
      ['multiply', { a: 6, b: 0 }, 'Error: b must not be 0'],
      ['multiply', { a: 6 }, /\/b/],
    ],
  },
  'LangChain classes': {
    files: 'langchain-class.ts',
    categories: { read_file: 'read', write_file: 'write' },
    tools: { read_file: 'r', write_file: 'w' },
    calls: [
      ['read_file', { path: 'a.txt' }, { content: [text('content of a.txt')] }],
      ['write_file', { path: 'a.txt', text: 'x' }, { content: [text('/data/a.txt')] }],
    ],
    errors: [['read_file', { path: '/etc/passwd' }, 'Error: Absolute paths are not allowed']],
    remaining: ['class_not_instantiated 16'],
  },
  'MCP SDK, arguments of registerTool': {
    files: 'mcp-tuples.ts',
    categories: { ping: 'read' },
    tools: { add_numbers: 'r', ping: 'r' },
    calls: [
      ['add_numbers', { a: 1, b: 2 }, { content: [text('3')], structuredContent: { sum: 3 } }],
      ['ping', {}, { content: [text('pong')] }],
    ],
    errors: [['add_numbers', { a: -1, b: 2 }, 'a must not be negative']],
  },
  'MCP SDK, objects with a handler': {
    files: 'mcp-objects.ts',
    categories: { take_screenshot: 'read' },
    tools: { fetch_page: 'r', take_screenshot: 'r' },
    calls: [
      [
        'fetch_page',
        { url: 'https://a.example' },
        {
          content: [
            text('aborted: false'),
            { type: 'resource_link', uri: 'https://a.example', name: 'page' },
            {
              type: 'resource',
              resource: { uri: 'https://a.example', mimeType: 'text/html', text: '<p>' },
            },
          ],
        },
      ],
      ['take_screenshot', { page: '/' }, { content: [png] }],
    ],
    errors: [
      ['fetch_page', { url: 'http://a.example' }, 'Error: Only https: addresses are allowed'],
    ],
  },
  'MCP, entries of tools/list with handlers': {
    files: 'mcp-list.ts',
    tools: { create_issue: 'w' },
    calls: [['create_issue', { title: 'Rain' }, { content: [text('Created Rain')] }]],
    errors: [['create_issue', { title: '' }, 'The title is empty']],
  },
  'McpServer of SDK 1': {
    files: 'mcp-server-1.ts',
    categories: { count_notes: 'read' },
    tools: { count_notes: 'r', find_note: 'r' },
    calls: [
      ['find_note', { text: 'tea' }, { content: [text('note about tea, false')] }],
      ['count_notes', {}, { content: [text('3')] }],
    ],
    errors: [['find_note', { text: 'nothing' }, 'Error: No note contains "nothing"']],
  },
  'McpServer of SDK 2': {
    files: 'mcp-server-2.ts',
    tools: { set_light: 'w' },
    calls: [
      [
        'set_light',
        { light: 'desk', percent: 40 },
        { content: [text('desk: 40 %')], structuredContent: { percent: 40 } },
      ],
    ],
    errors: [['set_light', { light: 'desk', percent: 400 }, 'Error: percent must be at most 100']],
  },
  'agent-tool-forge, flat parameters': {
    files: 'forge.js',
    tools: { get_portfolio: 'r' },
    calls: [
      ['get_portfolio', { account: '1' }, { structuredContent: { account: '1', user: 'local' } }],
    ],
    errors: [
      ['get_portfolio', { account: '0' }, 'Error: No such account'],
      ['get_portfolio', { account: '1', currency: 'CHF' }, /currency/],
    ],
  },
  'agent-tool-forge, mcpRouting': {
    files: 'forge-routing.js',
    categories: { delete_order: 'delete' },
    tools: { delete_order: 'w!' },
    calls: [['delete_order', { id: '1' }, { structuredContent: { deleted: '1' } }]],
    errors: [['delete_order', { id: '0' }, 'Error: No such order']],
    remaining: ['function_missing 21', 'category_unknown 12'],
  },
  'CommonJS, module.exports': {
    files: 'commonjs.cjs',
    categories: { list_files: 'read' },
    tools: { list_files: 'r' },
    calls: [['list_files', { folder: 'a' }, { structuredContent: { files: ['a/a.txt'] } }]],
    errors: [['list_files', { folder: '/' }, outOfOrder]],
  },
  'a definition beside its function': {
    files: 'pairs.ts',
    categories: { send_mail: 'side_effect', 'get_*': 'read' },
    tools: { get_mail: 'r', send_mail: 'w' },
    calls: [
      ['send_mail', { to: 'a@b.c' }, { content: [text('sent to a@b.c')] }],
      ['get_mail', {}, { structuredContent: { subject: 'Hello' } }],
    ],
    errors: [['send_mail', {}, /to/]],
  },
  'name, parameters and handler, without a library': {
    files: 'plain-objects.ts',
    categories: { translate: 'analysis' },
    tools: { translate: 'r' },
    calls: [['translate', { text: 'tea' }, { content: [text('[tea]')] }]],
    errors: [['translate', { text: '' }, outOfOrder]],
  },
  classes: {
    files: 'static-class.ts',
    categories: { get_time: 'analysis', roll_dice: 'analysis' },
    tools: { get_time: 'r', roll_dice: 'r' },
    calls: [
      ['get_time', { zone: 'UTC' }, { structuredContent: { zone: 'UTC', time: '12:00' } }],
      ['roll_dice', { count: 2 }, { structuredContent: { rolls: [4, 4] } }],
    ],
    errors: [
      ['roll_dice', { count: 0 }, /count/],
      ['get_time', { zone: 'Mars' }, outOfOrder],
    ],
  },
  'Drawbridge, nested maps and arrays': {
    files: 'drawbridge.ts',
    tools: { read_clock: 'r' },
    calls: [['read_clock', { zone: 'UTC' }, { structuredContent: { zone: 'UTC', time: '12:00' } }]],
    errors: [['read_clock', { zone: 'Mars' }, 'Error: Unknown zone']],
  },
  'definitions and functions in two files': {
    files: ['handlers-elsewhere.ts', 'handlers.ts'],
    categories: { get_invoice: 'read' },
    tools: { get_invoice: 'r' },
    calls: [['get_invoice', { number: '1' }, { structuredContent: { number: '1', cents: 4900 } }]],
    errors: [['get_invoice', { number: '0' }, 'No such invoice']],
  },
}

const fixtures = path.resolve('test/fixtures/dialects')

const toConfig = ({ files, categories }: Row): string =>
  JSON.stringify({
    sources: [
      {
        definitions: [files].flat().map((file) => path.join(fixtures, file)),
        ...(categories && { categories }),
      },
    ],
  })

const cases = Object.entries(rows).map(([name, row], index) => ({
  name,
  row,
  config: `${index}/drawbridge.json`,
}))
const cwd = await aSharedProject(
  Object.fromEntries(cases.map(({ config, row }) => [config, toConfig(row)])),
)

describe.each(cases)('$name', ({ row, config }) => {
  test('is listed, with the effects that its line declares, and nothing else is to be added', async () => {
    const listed = await drawbridge(['list', config, '--tools'], { cwd })
    const checked = await drawbridge(['check', config, '--json'], { cwd })
    const { tools } = JSON.parse(listed.stdout)
    const remaining = JSON.parse(checked.stdout)
      .filter(({ severity }: { severity: string }) => severity !== 'info')
      .map(({ code, at }: { code: string; at: string }) => `${code} ${at.split(':')[1]}`)

    expect(Object.fromEntries(tools.map(toMark))).toEqual(row.tools)
    for (const { description, inputSchema } of tools)
      expect({ description, inputSchema }).toEqual({
        description: expect.stringMatching(/\.$/),
        inputSchema: expect.objectContaining({ type: 'object' }),
      })
    expect(remaining).toEqual(row.remaining ?? [])
  })

  test.each(row.calls)('%s is called with %j', async (tool, input, expected) => {
    const { code, stdout } = await drawbridge(
      ['call', config, tool, JSON.stringify(input), '--json'],
      { cwd },
    )

    expect(JSON.parse(stdout)).toMatchObject(expected)
    expect(code).toBe(0)
  })

  test.each(row.errors)('%s with %j is an error', async (tool, input, expected) => {
    const { code, stdout } = await drawbridge(
      ['call', config, tool, JSON.stringify(input), '--json'],
      { cwd },
    )
    const { isError, content } = JSON.parse(stdout)

    expect({ code, isError }).toEqual({ code: 1, isError: true })
    if (typeof expected === 'string') expect(content).toEqual([text(expected)])
    else expect(content[0].text).toMatch(expected)
    expect(content[0].text).not.toContain(fixtures)
  })
})

interface ListedTool {
  readonly name: string
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean }
}

function toMark({ name, annotations }: ListedTool): readonly [string, string] {
  if (annotations.readOnlyHint) return [name, 'r']
  return [name, annotations.destructiveHint ? 'w!' : 'w']
}
