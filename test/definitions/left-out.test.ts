import { describe, expect, test } from 'vitest'
import { aProject, aSharedProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

interface Found {
  readonly code: string
  readonly severity: string
  readonly message: string
  readonly at: string
}

async function check(file: string, cwd: string): Promise<string[]> {
  const { stdout } = await drawbridge(['check', file, '--json'], { cwd })
  const found: Found[] = JSON.parse(stdout)
  return found
    .filter(({ code }) => code !== 'category_missing')
    .map(({ code, at, message }) => `${at.replace(`${cwd}/`, '')} ${code} ${message}`)
}

const parameters = "parameters: { type: 'object', properties: {} }"

/** What looks like a tool and is not taken: the line that is named, the code, and a part of the reason. */
const leftOut: Readonly<Record<string, readonly [text: string, found: readonly RegExp[]]>> = {
  'a-factory.ts': [
    `// the tools\nexport function createTools(key: string) {\n  return { key }\n}\n`,
    [
      /^a-factory\.ts:2:1 function_not_called createTools .* functions are not called/,
      /module_empty/,
    ],
  ],
  'a-promise.ts': [
    `const load = async () => []\n\nexport const tools = load()\n`,
    [/^a-promise\.ts:3:14 tool_left_out tools .* promise/, /module_empty/],
  ],
  'a-class.ts': [
    `export class SearchTool {\n  constructor(readonly key: string) {}\n  name = 'search'\n  ${parameters.replace(':', ' =')}\n  execute() {}\n}\n`,
    [/^a-class\.ts:1:14 class_not_instantiated SearchTool .* takes arguments/, /module_empty/],
  ],
  'mastra.ts': [
    `export const weather = {\n  id: 'weather',\n  description: 'Weather.',\n  inputSchema: {},\n  execute: async ({ context }: { context: object }) => context,\n}\n`,
    [/^mastra\.ts:2:3 tool_left_out weather .* Mastra/, /module_empty/],
  ],
  'unknown-form.ts': [
    `export const half = { name: 'half', description: 'Half a tool.', paramsSchema: {} }\n`,
    [/^unknown-form\.ts:1:23 tool_left_out half .* no known kind of tool/, /module_empty/],
  ],
  'no-function.ts': [
    `// { name: 'get_user' }\nconst example = "name: 'get_user'"\nexport const tools = [\n  { name: 'get_user', description: 'A user.', input_schema: { type: 'object' } },\n]\n`,
    [/^no-function\.ts:4:5 function_missing "get_user" .* Export one named get_user/],
  ],
  'unused-function.ts': [
    `export const tools = [\n  { type: 'function', name: 'get_user', ${parameters}, description: 'A user.' },\n]\nexport const handlers = {\n  get_user: () => 1,\n  get_usr: () => 2,\n}\n`,
    [
      /^unused-function\.ts:6:3 handler_unused handlers\.get_usr .* "get_usr", which is not defined/,
    ],
  ],
  'two-functions.ts': [
    `export const tools = [\n  { name: 'get_user', description: 'A user.', input_schema: { type: 'object' } },\n]\nexport const fakes = { get_user: () => 1 }\nexport const real = { get_user: () => 2 }\n`,
    [
      /^two-functions\.ts:2:5 definition_invalid .* several functions are exported for "get_user": fakes\.get_user, real\.get_user/,
    ],
  ],
  'no-name.ts': [
    `export const tools = [{ description: 'A.', ${parameters}, execute: () => 1 }]\n`,
    [/^no-name\.ts:1:1 definition_invalid A tool has no name/],
  ],
  'a-getter.ts': [
    `export const tool = {\n  get name(): string {\n    throw new Error('no configuration')\n  },\n  execute() {},\n}\n`,
    [/^a-getter\.ts:1:14 tool_left_out tool .* cannot be read: no configuration/, /module_empty/],
  ],
  'wrong-fields.ts': [
    `import { z } from 'drawbridge-mcp'\n\nexport const refund = {\n  name: 'refund',\n  description: 'Refunds.',\n  inputSchema: z.array(z.string()),\n  handler: () => 1,\n}\nexport const cancel = {\n  name: 'cancel',\n  description: 'Cancels.',\n  ${parameters},\n  handler: () => 1,\n  timeout: 'soon',\n  colour: 'red',\n}\n`,
    [
      /^wrong-fields\.ts:14:3 field_ignored "cancel": its field timeout/,
      /^wrong-fields\.ts:15:3 field_ignored cancel has an unknown field colour/,
      /^wrong-fields\.ts:6:3 schema_unusable "refund" .* "type": "object"/,
    ],
  ],
  'unknown-fields.ts': [
    `export const cancel = {\n  name: 'cancel',\n  description: 'Cancels.',\n  ${parameters},\n  handler: () => 1,\n  colour: 'red',\n}\n`,
    [/^unknown-fields\.ts:6:3 field_ignored cancel has an unknown field colour/],
  ],
  'parts.ts': [
    `export const tools = {
  ping: { description: 'Pings.', handler: () => 1 },
  pong: { description: 'Pongs.', fn: () => 1 },
  only_function: { execute: () => 1 },
  only_schema: { ${parameters} },
  no_schema: { description: 'x', parameters: true, execute: () => 1 },
}
export const list = [
  { name: 'bare', handler: () => 1 },
  { name: 'entry', inputSchema: { type: 'object', properties: {} } },
]
export const described = Object.assign(async () => 1, { description: 'Has no schema.' })
`,
    [
      /^parts\.ts:10:5 function_missing "entry"/,
      /^parts\.ts:12:14 tool_left_out described .* no schema/,
      /^parts\.ts:9:5 tool_left_out list\.0 .* no description and no schema/,
      /^parts\.ts:2:3 tool_left_out tools\.ping .* no schema/,
      /^parts\.ts:3:3 tool_left_out tools\.pong .* no schema/,
      /^parts\.ts:4:3 tool_left_out tools\.only_function .* only a function/,
      /^parts\.ts:5:3 tool_left_out tools\.only_schema .* only a schema/,
      /^parts\.ts:6:3 tool_left_out tools\.no_schema .* its schema is not an object/,
    ],
  ],
  'too-deep.ts': [
    `const tool = { name: 'deep', description: 'x', ${parameters}, handler: () => 1 }\nexport const a = { b: { c: { d: { e: { f: { g: { h: { i: { j: { tool } } } } } } } } } }\n`,
    [/^too-deep\.ts:1:16 tool_left_out .* more than 10 levels deep/, /module_empty/],
  ],
  'a-toolkit.ts': [
    `export const kit = new (class Kit {\n  async getTools() {\n    throw new Error('was called')\n  }\n})()\n`,
    [/^a-toolkit\.ts:1:14 function_not_called kit .* getTools\(\)/, /module_empty/],
  ],
  'server-factory.ts': [
    `import { createServer as listen } from 'node:http'\nexport const createServer = () => listen()\n`,
    [
      /^server-factory\.ts:2:14 function_not_called createServer .* Export the server/,
      /module_empty/,
    ],
  ],
  'toolkit-factory.ts': [
    `export async function makeAgentToolkit() {}\n`,
    [/^toolkit-factory\.ts:1:1 function_not_called makeAgentToolkit/, /module_empty/],
  ],
  'dispatcher.ts': [
    `export const tools = [{ type: 'function', function: { name: 'get_x', ${parameters} } }]\nexport async function executeTool(name: string, args: object) {\n  switch (name) {}\n}\n`,
    [
      /^dispatcher\.ts:1:55 function_missing "get_x"/,
      /^dispatcher\.ts:2:1 function_not_called executeTool .*handlers = \{ get_x: \(input\) => executeTool\('get_x', input\) \}/,
    ],
  ],
  'no-handler-fits.ts': [
    `export const tools = [\n  { name: 'get-user', description: 'x', input_schema: { type: 'object' } },\n]\nexport const handlers = {\n  user: () => 1,\n}\n`,
    [
      /^no-handler-fits\.ts:2:5 function_missing "get-user" .* Export a map such as handlers = \{ "get-user": \(input\)/,
      /^no-handler-fits\.ts:5:3 handler_unused/,
    ],
  ],
  'not-exported.ts': [
    `class McpServer {}\nconst server = new McpServer()\nexport const name = String(server)\n`,
    [/module_empty .* It makes an McpServer: export it/],
  ],
  'odd-exports.ts': [
    `const fail = (): never => {
  throw new Error('not configured')
}
export const good = { name: 'good', description: 'x', category: 'read', ${parameters}, handler: () => 1 }
export const lazy = new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail })
export const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()
export const map = {
  get broken() {
    return fail()
  },
  fine: { description: 'x', category: 'read', ${parameters}, handler: () => 1 },
}
`,
    [
      /^odd-exports\.ts:5:14 tool_left_out lazy .* cannot be read: not configured/,
      /^odd-exports\.ts:8:1 tool_left_out map\.broken .* cannot be read: not configured/,
      /^odd-exports\.ts:6:\d+ tool_left_out revoked .* cannot be read: .*revoked/,
    ],
  ],
  'odd-fields.ts': [
    `export const tools = {
  ts: { description: 'x', ${parameters}, execute: () => 1, toString: () => 'x' },
  co: { description: 'x', ${parameters}, execute: () => 1, constructor: 5 },
  no: { name: 42, description: 'x', ${parameters}, execute: () => 1 },
  bad: { description: 'x', inputSchema: () => { throw new Error('no schema') }, execute: () => 1 },
}
`,
    [
      /^odd-fields\.ts:2:\d+ field_ignored ts has an unknown field toString/,
      /^odd-fields\.ts:3:\d+ field_ignored co has an unknown field constructor/,
      /^odd-fields\.ts:4:9 field_ignored "no": its name 42 is not a string, .* its key/,
      /^odd-fields\.ts:5:3 definition_invalid "bad" cannot be read: no schema/,
    ],
  ],
  'no-description.ts': [
    `export const cancel = {\n  name: 'cancel',\n  ${parameters},\n  handler: () => 1,\n}\n`,
    [
      /^no-description\.ts:2:3 description_missing "cancel" has no description.*Add description: '…'/,
    ],
  ],
}

const cwd = await aSharedProject(
  Object.fromEntries(Object.entries(leftOut).map(([file, [text]]) => [file, text])),
)

test.each(Object.entries(leftOut))(
  '%s: what is not taken is named with its line and the reason',
  async (file, [, expected]) => {
    const found = await check(file, cwd)

    expect(found).toEqual(expected.map((line) => expect.stringMatching(line)))
  },
)

/** What looks like a part of a tool, and has all that a call needs. */
const taken: Readonly<Record<string, string>> = {
  'a map entry without a description': `export const tools = { now: { ${parameters}, handler: () => 'ran' } }`,
  'a Set': `export const tools = new Set([{ name: 'now', description: 'x', ${parameters}, handler: () => 'ran' }])`,
  'a function with a definition': `export const now = Object.assign(async () => 'ran', { description: 'x', ${parameters} })`,
  'a toolkit': `export const kit = new (class { tools = [{ name: 'now', description: 'x', ${parameters}, handler: () => 'ran' }]; getTools() { throw new Error('was called') } })()`,
  'a class with static tools': `export class Kit { static tools = [{ name: 'now', description: 'x', ${parameters}, handler: () => 'ran' }] }`,
  'a tool of a part of a tool, which is no tool then': `export const agent = { name: 'a', run() {}, tools: [{ name: 'now', description: 'x', ${parameters}, handler: () => 'ran' }] }`,
  'seven levels': `export const a = { b: { c: { d: { e: { f: { name: 'now', description: 'x', ${parameters}, handler: () => 'ran' } } } } } }`,
  'a tool of tools/list with a handler': `export const tools = [{ name: 'now', inputSchema: { type: 'object', properties: {} } }]\nexport const handlers = { now: () => 'ran' }`,
  'a function of OpenAI without a type': `export const tools = [{ function: { name: 'now', ${parameters} }, handler: () => 'ran' }]`,
  'a function of OpenAI with the name as its key': `export const tools = { now: { type: 'function', function: { ${parameters} }, handler: () => 'ran' } }`,
}

test.each(Object.entries(taken))('%s is served', async (_, text) => {
  const folder = await aProject({ 'tools.ts': `${text}\n` })

  expect(await drawbridge(['call', 'tools.ts', 'now'], { cwd: folder })).toMatchObject({
    code: 0,
    stdout: 'ran\n',
  })
})

test('ordinary exports beside a tool are not mentioned', async () => {
  const folder = await aProject({
    'tools.ts': `import { z } from 'drawbridge-mcp'
export { z }
export const tool = { name: 'now', description: 'x', category: 'read', ${parameters}, handler: () => 1 }
export const version = '1.0.0'
export const limits = { retries: 3, timeout: 5_000, hosts: ['a', 'b'], deep: { a: { b: { c: { d: 1 } } } } }
export const schema = z.object({ name: z.string(), description: z.string() })
export const schemas = { order: schema, orders: z.array(schema) }
export const input = { type: 'object', properties: { name: { type: 'string' } } }
export const user = { name: 'Ann', description: 'A user.', email: 'a@b.c' }
export const route = { name: 'orders', method: 'GET', path: '/orders', handler: () => 1 }
export const rule = { schema, run: () => true }
export const client = { get: async () => 1, execute: async () => 1, close: async () => {} }
export const settings = new Map([['a', { name: 'a' }]])
export const names = new Set(['a', 'b'])
export const validate = Object.assign((value: unknown) => schema.safeParse(value).success, { schema: input })
export const endpoint = { parameters: [{ name: 'id', in: 'query' }] }
export class Store { constructor(readonly items: string[]) {} tools() { return [] } }
export const store = new Store([])
export class NotFound extends Error { override name = 'NotFound' }
export const isTool = (value: unknown) => Boolean(value)
export function executeTool(name: string) { return name }
export function createServer() {}
export function formatPrice(price: number) { return String(price) }
export const logger = { name: 'app', info() {}, child: () => logger }
export type Anything = unknown
`,
  })

  expect(await check('tools.ts', folder)).toEqual([])
})

test('a definition that a barrel exports is named with the file that contains it', async () => {
  const folder = await aProject({
    'index.ts': "export * from './tools/mail.ts'\n",
    'tools/mail.ts': `\nexport const mail = {\n  name: 'send_mail',\n  description: 'Sends.',\n  ${parameters},\n  handler: () => 1,\n  timeout: 'soon',\n}\n`,
  })

  expect(await check('index.ts', folder)).toEqual([
    expect.stringMatching(/^tools\/mail\.ts:7:3 field_ignored/),
  ])
})

describe('a module with a default function', () => {
  test('is a module of definitions if it exports any', async () => {
    const folder = await aProject({
      'tools.ts': `export const ping = {\n  name: 'ping',\n  description: 'Pings.',\n  category: 'read',\n  ${parameters},\n  handler: () => 'pong',\n}\nexport default function registerTools() {}\n`,
    })
    const { code, stdout } = await drawbridge(['call', 'tools.ts', 'ping'], { cwd: folder })

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'pong\n' })
    expect(await check('tools.ts', folder)).toEqual([
      expect.stringMatching(/^tools\.ts:8:1 function_not_called The default export/),
    ])
  })
})

test('the same unknown field in many tools is one line with a count, and check --json lists all', async () => {
  const tool = (index: number) =>
    `  { name: 'tool_${index}', description: 'Tool.', category: 'read', ${parameters}, handler: () => 1, colour: 'red' },\n`
  const folder = await aProject({
    'tools.ts': `export const tools = [\n${Array.from({ length: 30 }, (_, index) => tool(index)).join('')}]\n`,
  })

  const { stdout } = await drawbridge(['check', 'tools.ts'], { cwd: folder })

  expect(stdout.trim().split('\n')).toEqual([
    expect.stringMatching(
      /tools\.ts:2:\d+ field_ignored: tool_0 has an unknown field colour.* \(and 29 more like it: "drawbridge check --json" lists all\)$/,
    ),
    '30 tools, 0 errors, 30 warnings',
  ])
  expect(await check('tools.ts', folder)).toHaveLength(30)
})
