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
