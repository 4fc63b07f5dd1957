import { expect, test } from 'vitest'
import { aProject, aSharedProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const schema = "parameters: { type: 'object', properties: {} }"
const get = (rest: string) => `{ ${rest}description: 'Gets.', ${schema}, handler: () => 1 }`
const named = get("name: 'get', ")

/** Modules with one tool that lacks a category, and the position that `check` gives. */
const modules: Readonly<Record<string, readonly [text: string, position: string]>> = {
  'a literal': [`export const tool = ${named}\n`, '1:23'],
  'a copy in a comment and in a string': [
    `// ${named}\n/* ${named} */\nconst text = "name: 'get', description"\nexport const tool = ${named}\n`,
    '4:23',
  ],
  'a copy in a template': [
    `const text = \`\${text2()} ${named} \${\`\${1}\`}\`\nfunction text2() { return '}' }\nexport const tool = ${named}\nexport { text }\n`,
    '3:23',
  ],
  'quotes in regular expressions and divisions': [
    `const quotes = /['"\`{]/g\nconst half = (8 / 2) / 1 // '\nexport const tool = ${named}\nexport const used = [quotes, half]\n`,
    '3:23',
  ],
  'the same name in something else': [
    `const user = { name: 'get', age: 5 }\nexport const tool = ${named}\nexport { user }\n`,
    '2:23',
  ],
  'the name in two literals: the variable': [
    `const draft = ${named}\nexport const tool = ${named}\ndraft.description = ''\n`,
    '2:14',
  ],
  'a computed name: the export': [
    `const verb = 'get'\nexport const tools = [${get('name: verb, ')}]\n`,
    '2:1',
  ],
  'a computed name in a default export': [
    `const verb = 'get'\n\nexport default [${get('name: verb, ')}]\n`,
    '3:1',
  ],
  'a key of a map': [`export const tools = {\n  get: ${get('')},\n}\n`, '2:3'],
  'a quoted key': [`export const tools = {\n  'get': ${get('')},\n}\n`, '2:3'],
  'an export that is the name': [`export const get = ${get('')}\n`, '1:14'],
  'a class field': [
    `class GetTool {\n  name = 'get'\n  description = 'Gets.'\n  parameters = { type: 'object', properties: {} }\n  handler() {}\n}\nexport const tool = new GetTool()\n`,
    '2:3',
  ],
  'a computed export': [
    `const verb = 'get'\nconst all = [${get('name: verb, ')}]\nexport { all as tools }\n`,
    '3:1',
  ],
  'an export that is destructured': [
    `const verb = 'get'\n\nexport const { all: tools } = { all: [${get('name: verb, ')}] }\n`,
    '3:1',
  ],
}

const cases = Object.entries(modules).map(([name, [text, position]], index) => ({
  name,
  file: `module-${index}.ts`,
  text,
  position,
}))
const cwd = await aSharedProject(Object.fromEntries(cases.map(({ file, text }) => [file, text])))

test.each(cases)('$name', async ({ file, position }) => {
  const { stdout } = await drawbridge(['check', file, '--json'], { cwd })
  const [asked] = JSON.parse(stdout).filter(
    ({ code }: { code: string }) => code === 'category_missing',
  )

  expect(asked.message).toContain('"get" has no category')
  expect(asked.at).toBe([`${cwd}/${file}`, ...(position === '' ? [] : [position])].join(':'))
})

test.each([
  ['export async function getTools() {}', '2:1'],
  ['export async function* getTools() {}', '2:1'],
  ['export function* getTools() {}', '2:1'],
  ['const make = () => []\nexport { make as getTools }', '3:1'],
])('a factory is found: %s', async (text, position) => {
  const folder = await aProject({ 'tools.ts': `// tools\n${text}\n` })
  const { stdout } = await drawbridge(['check', 'tools.ts', '--json'], { cwd: folder })

  expect(JSON.parse(stdout)[0]).toMatchObject({
    code: 'function_not_called',
    at: `${folder}/tools.ts:${position}`,
  })
})

test.each([
  [
    'an id instead of a name',
    "module.exports = [\n  { id: 'get', description: 'x', inputSchema: {}, execute: () => 1 },\n]\n",
    '2:5',
  ],
  ['a list of another file', "\nexports.tools = require('./list.cjs')\n", '2:1'],
])('a CommonJS tool that is left out is found: %s', async (_, text, position) => {
  const folder = await aProject({
    'tools.cjs': text,
    'list.cjs': "module.exports = [{ type: 'web_search' }]\n",
  })
  const { stdout } = await drawbridge(['check', 'tools.cjs', '--json'], { cwd: folder })

  expect(JSON.parse(stdout)[0]).toMatchObject({
    code: 'tool_left_out',
    at: `${folder}/tools.cjs:${position}`,
  })
})

test('findings of the catalog and of mounts have positions, too', async () => {
  const tool = (name: string, parameters: string) =>
    `{ name: '${name}', description: 'Gets.', parameters: ${parameters}, handler: () => 1 }`
  const object = "{ type: 'object', properties: {} }"
  const cwd = await aProject({
    'tools.mjs': [
      `export const dotted = ${tool('get.dotted', object)}`,
      `export const first = ${tool('get_twice', object)}`,
      `export const second = ${tool('get_twice', object)}`,
      `export const either = ${tool('get_either', `{ type: 'object', anyOf: [${object}, { required: ['a'], properties: { a: true } }] }`)}`,
    ].join('\n'),
  })
  const { stdout } = await drawbridge(['check', 'tools.mjs', '--json'], { cwd })

  const found = JSON.parse(stdout) as { readonly code: string; readonly at?: string }[]
  const lines = (code: string) =>
    found
      .filter((one) => one.code === code)
      .map(({ at }) => /tools\.mjs:(\d+):\d+$/.exec(at ?? '')?.[1])
  expect(lines('name_rewritten')).toEqual(['1'])
  expect(lines('name_collision')).toEqual(['2', '3'])
  expect(new Set(lines('schema_lowered'))).toEqual(new Set(['4']))
})
