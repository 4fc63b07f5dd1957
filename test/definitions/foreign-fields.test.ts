import { describe, expect, test } from 'vitest'
import { createDrawbridge, definitionSource, type ToolContext } from '../../src/index.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const input = { city: 'Oslo' }
const names = { name: 'a_tool', description: 'A tool.' }

/** Serves one tool and calls it; `calls` says how often its function ran. */
async function callOne(make: (run: () => string) => object, options: object = {}) {
  let calls = 0
  const tool = make(() => {
    calls++
    return 'ran'
  })
  const bridge = createDrawbridge({ sources: [definitionSource({ a_tool: tool })], ...options })
  const result = await bridge.call('a_tool', input).catch(String)
  return { text: JSON.stringify(result), calls, codes: bridge.diagnostics.map(({ code }) => code) }
}

describe('an approval that a tool of another library requires', () => {
  const forms: Readonly<Record<string, (run: () => string, approval: object) => object>> = {
    'OpenAI Agents': (invoke, approval) => ({
      ...names,
      ...approval,
      type: 'function',
      parameters: schema,
      invoke,
    }),
    'OpenAI Chat': (execute, approval) => ({
      type: 'function',
      function: { ...names, ...approval, parameters: schema },
      execute,
    }),
    'OpenAI Responses': (execute, approval) => ({
      ...names,
      ...approval,
      type: 'function',
      parameters: schema,
      execute,
    }),
    Anthropic: (run, approval) => ({ ...names, ...approval, input_schema: schema, run }),
    LangChain: (invoke, approval) => ({
      ...names,
      ...approval,
      lc_namespace: ['a'],
      schema,
      invoke,
    }),
    'a definition beside its function': (handler, approval) => ({
      definition: { ...names, ...approval, input_schema: schema },
      handler,
    }),
    'MCP SDK': (handler, approval) => ({ ...names, ...approval, inputSchema: schema, handler }),
    'AI SDK': (execute, approval) => ({
      description: 'A tool.',
      ...approval,
      inputSchema: schema,
      execute,
    }),
    'a function': (handler, approval) => ({ ...names, ...approval, parameters: schema, handler }),
    'our own': (execute, approval) => ({ ...names, ...approval, schema, execute }),
  }

  test.each(Object.keys(forms))('is required by Drawbridge: %s', async (form) => {
    const make = forms[form]
    for (const approval of [{ needsApproval: true }, { requiresApproval: true }]) {
      const { text, calls } = await callOne((run) => make?.(run, approval) ?? {})

      expect(text).toContain('requires human approval')
      expect(calls).toBe(0)
    }
  })

  test('is not taken away beside the definition', async () => {
    const { calls } = await callOne((handler) => ({
      definition: { ...names, input_schema: schema, needsApproval: true },
      requiresConfirmation: false,
      handler,
    }))

    expect(calls).toBe(0)
  })

  test('is an error in another form than the library defines, and a disabled tool is left out', async () => {
    const agent = { ...names, type: 'function', parameters: schema }
    const wrong = await callOne((invoke) => ({ ...agent, needsApproval: 'always', invoke }))
    const disabled = await callOne((invoke) => ({ ...agent, isEnabled: false, invoke }))

    expect([wrong.calls, disabled.calls]).toEqual([0, 0])
    expect(wrong.codes).toContain('definition_invalid')
    expect(disabled.codes).toContain('tool_left_out')
  })

  test('is not given by a policy that only observes', async () => {
    const seen: boolean[] = []
    const { calls } = await callOne(
      (run) => ({
        ...names,
        schema,
        requiresConfirmation: true,
        execute: (_: unknown, { approved }: ToolContext) => {
          seen.push(approved)
          return run()
        },
      }),
      { policy: { mode: 'observe' } },
    )

    expect([calls, seen]).toEqual([1, [false]])
  })
})

async function read(tool: object) {
  const bridge = createDrawbridge({ sources: [definitionSource({ a_tool: tool })] })
  await bridge.ready
  const invalid = await bridge.call('a_tool', {})
  return {
    codes: bridge.diagnostics.map(({ code }) => code),
    needsCity: JSON.stringify(invalid).includes('are not valid'),
    bridge,
  }
}

describe('the schema of a tool', () => {
  const execute = () => 'ran'

  test.each<[string, object]>([
    ['annotations', { parameters: schema, annotations: { readOnlyHint: true }, handler: execute }],
    [
      'metadata that looks like a definition',
      {
        description: 'A tool.',
        inputSchema: schema,
        execute,
        metadata: { ...names, annotations: { readOnlyHint: true } },
      },
    ],
    ['a flat map', { parameters: { city: { type: 'string' } }, handler: execute }],
  ])('is enforced beside or as %s', async (_, fields) => {
    expect((await read({ ...names, ...fields })).needsCity).toBe(true)
  })

  test('that is empty does not make another library of our own definition', async () => {
    let context: object = {}
    const { bridge } = await read({
      ...names,
      schema: {},
      category: 'read',
      execute: (_: unknown, given: object) => {
        context = given
        return 'ran'
      },
    })
    await bridge.call('a_tool', {})

    expect(context).not.toHaveProperty('abortSignal')
  })
})

test('annotations that contradict the category are reported', async () => {
  const { codes } = await read({
    ...names,
    category: 'read',
    annotations: { readOnlyHint: false, destructiveHint: true },
    inputSchema: schema,
    handler: () => 'ran',
  })

  expect(codes).toContain('annotations_contradict')
})

test('labels with another meaning do not cost the tool', async () => {
  const { codes, needsCity } = await read({
    ...names,
    category: 'filesystem',
    version: 2,
    tags: 'a,b',
    parameters: schema,
    handler: () => 'ran',
  })

  expect(needsCity).toBe(true)
  expect(codes).toEqual(expect.arrayContaining(['category_unknown', 'field_ignored']))
})
