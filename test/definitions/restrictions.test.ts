import { McpServer, ResourceTemplate, requireScopes } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { createDrawbridge, definitionSource, z } from '../../src/index.ts'

const names = { name: 'a_tool', description: 'A tool.' }
const schema = { type: 'object', properties: {} }
const execute = () => 'ran'
const result = async () => ({ content: [{ type: 'text' as const, text: 'ran' }] })
type Challenge = NonNullable<Parameters<McpServer['registerTool']>[1]['scopeChallenge']>

function open(exports: object) {
  const bridge = createDrawbridge({ sources: [definitionSource(exports)] })
  const callAs = async (...scopes: readonly string[]) => {
    const caller = { subject: 'ann', scopes: new Set(scopes) }
    return JSON.stringify(await bridge.call('a_tool', {}, { caller }).catch(String))
  }
  return { bridge, callAs }
}

const aServer = (scopeChallenge: Challenge) => {
  const server = new McpServer({ name: 'a', version: '1.0.0' })
  const tool = server.registerTool(
    'a_tool',
    { description: 'A tool.', inputSchema: z.object({}), scopeChallenge },
    result,
  )
  const prompt = server.registerPrompt('a_prompt', { scopeChallenge }, () => ({ messages: [] }))
  const view = server.registerResource('a', 'a://b', { scopeChallenge }, () => ({ contents: [] }))
  const views = server.registerResource(
    'c',
    new ResourceTemplate('c://{d}', { list: undefined }),
    { scopeChallenge },
    () => ({ contents: [] }),
  )
  return { server, registered: [tool, prompt, view, views] }
}

describe('a scopeChallenge of the MCP SDK', () => {
  const config = {
    description: 'A tool.',
    inputSchema: schema,
    scopeChallenge: requireScopes('admin'),
  }

  test.each<[string, object]>([
    ['an McpServer', aServer(requireScopes('admin')).server],
    ['a list of arguments', [['a_tool', config, result]]],
    ['a definition with its config', [{ name: 'a_tool', config, handler: result }]],
    ['a definition', [{ name: 'a_tool', ...config, handler: result }]],
    [
      'a definition beside its function',
      [{ definition: { ...names, ...config }, handler: result }],
    ],
    ['a tool of another library', { a_tool: { ...config, execute } }],
  ])('by requireScopes is enforced as permissions: %s', async (_, exports) => {
    const { callAs } = open(exports)

    expect(await callAs()).not.toContain('ran')
    expect(await callAs('reader')).not.toContain('ran')
    expect(await callAs('admin')).toContain('ran')
  })

  test('is enforced for prompts, resources and templates', async () => {
    const { server } = aServer(requireScopes('admin', 'b'))
    const { prompts = [], views = [] } = await definitionSource(server).read()

    expect([...prompts, ...views].map(({ rules }) => rules.permissions)).toEqual([
      ['admin', 'b'],
      ['admin', 'b'],
      ['admin', 'b'],
    ])
  })

  test('of another function leaves out what has it, because its scopes are not known', async () => {
    let calls = 0
    const { server } = aServer(() => {
      calls++
      return undefined
    })
    const { bridge, callAs } = open(server)

    expect(await callAs('*')).not.toContain('ran')
    expect(calls).toBe(0)
    expect(bridge.diagnostics).toHaveLength(4)
    for (const diagnostic of bridge.diagnostics)
      expect(diagnostic).toMatchObject({
        code: 'permissions_unknown',
        severity: 'error',
        message: expect.stringContaining('declare permissions: ['),
      })
  })

  test('of another function is replaced by declared permissions, which requireScopes adds to', async () => {
    const { server, registered } = aServer(() => ({ scopes: ['other'] }))
    for (const one of registered) Object.assign(one, { permissions: ['admin'] })
    const custom = open(server)
    const both = open([{ ...names, ...config, permissions: ['audit'], handler: result }])

    expect([await custom.callAs('other'), await custom.callAs('admin')]).toEqual([
      expect.not.stringContaining('ran'),
      expect.stringContaining('ran'),
    ])
    expect(custom.bridge.diagnostics.map(({ code }) => code)).not.toContain('permissions_unknown')
    const { views = [] } = await definitionSource(server).read()
    expect(views.map(({ rules }) => rules.permissions)).toEqual([['admin'], ['admin']])
    expect(await both.callAs('admin')).not.toContain('ran')
    expect(await both.callAs('admin', 'audit')).toContain('ran')
  })

  test('is not replaced by permissions that are no list', async () => {
    for (const permissions of ['admin', [], [undefined]]) {
      const scopeChallenge = () => undefined
      const tool = { ...names, inputSchema: schema, scopeChallenge, permissions, handler: result }

      expect(await open([tool]).callAs('*', 'admin')).not.toContain('ran')
    }
    const { server, registered } = aServer(requireScopes('admin'))
    for (const one of registered) Object.assign(one, { permissions: 'audit' })
    const { capabilities, prompts, views } = await definitionSource(server).read()

    expect([capabilities, prompts, views]).toEqual([[], [], []])
  })

  test.each<[string, unknown]>([
    ['an object', { required: ['admin'] }],
    ['a text', 'admin'],
    ['false', false],
  ])('that is %s and no function leaves out the tool', async (_, scopeChallenge) => {
    const { callAs } = open([{ ...names, inputSchema: schema, scopeChallenge, handler: result }])

    expect(await callAs('*')).not.toContain('ran')
  })
})

describe('a tool that is disabled', () => {
  test.each<[string, object]>([
    ['enabled: false', [{ ...names, parameters: schema, handler: execute, enabled: false }]],
    [
      'in its config',
      [{ name: 'a_tool', config: { enabled: false, inputSchema: schema }, handler: result }],
    ],
    [
      'beside its function',
      [{ definition: { ...names, input_schema: schema, enabled: false }, execute }],
    ],
    ['our own', [{ ...names, schema, execute, enabled: false }]],
    [
      'isEnabled: false',
      { a_tool: { description: 'x', inputSchema: schema, execute, isEnabled: false } },
    ],
    ['disabled: true', [{ ...names, input_schema: schema, run: execute, disabled: true }]],
    [
      'in a server',
      (() => {
        const { server, registered } = aServer(requireScopes('admin'))
        for (const one of registered) one.disable()
        return server
      })(),
    ],
  ])('is not served, and named: %s', async (_, exports) => {
    const { callAs, bridge } = open(exports)

    expect(await callAs('*')).not.toContain('ran')
    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'tool_left_out',
        severity: 'info',
        message: expect.stringMatching(/"a_tool" is not served: it is disabled/),
      }),
    )
  })

  test('is one with enabled: false, and not one with enabled: true or a value of another kind', async () => {
    const tool = { ...names, category: 'read', parameters: schema, handler: execute }
    const on = open([{ ...tool, enabled: true, disabled: false }])
    const unclear = open([{ ...tool, enabled: 'maybe' }])

    expect([await on.callAs('*'), on.bridge.diagnostics]).toEqual([
      expect.stringContaining('ran'),
      [],
    ])
    await unclear.bridge.ready
    expect(unclear.bridge.diagnostics).toMatchObject([{ code: 'field_ignored' }])
  })
})

describe('an approval', () => {
  test.each<[string, object]>([
    ['requires_confirmation', { requires_confirmation: true }],
    ['requiresHumanApproval', { requiresHumanApproval: true }],
    ['human_approval', { human_approval: 'always' }],
    ['confirm', { confirm: true }],
    ['confirmBefore', { confirmBefore: ['run'] }],
    ['metadata.requiresConfirmation', { metadata: { requiresConfirmation: true } }],
    ['annotations.requiresApproval', { annotations: { requiresApproval: true } }],
    ['_meta.needs_approval', { _meta: { needs_approval: true } }],
  ])('is required under another name too: %s', async (_, approval) => {
    for (const tool of [
      { parameters: schema, handler: execute },
      { input_schema: schema, run: execute },
      { schema, execute },
    ]) {
      const { callAs } = open([{ ...names, ...tool, ...approval }])

      expect(await callAs('*')).toContain('requires human approval')
    }
  })

  test.each([
    { confirm: false },
    { needsApproval: 'never' },
    { requires_approval: { mode: 'never' } },
    { metadata: { approval: { required: false } } },
    { requiresApproval: undefined },
  ])('is not required by %j', async (approval) => {
    const { callAs, bridge } = open([
      { ...names, category: 'read', parameters: schema, handler: execute, ...approval },
    ])

    expect(await callAs('*')).toContain('ran')
    expect(bridge.diagnostics).toEqual([])
  })

  test.each([
    { approvalMessage: 'Sure?' },
    { approvedBy: 'ann' },
    { autoApprove: true },
    { skipConfirmation: true },
    { approvers: [] },
  ])('is not required by %j, which is reported', async (unknown) => {
    const { callAs, bridge } = open([
      { ...names, category: 'read', parameters: schema, handler: execute, ...unknown },
    ])

    expect(await callAs('*')).toContain('ran')
    expect(bridge.diagnostics).toMatchObject([{ code: 'field_ignored' }])
  })

  test('that an unknown field seems to ask for is required, and reported', async () => {
    const { callAs, bridge } = open([
      {
        ...names,
        category: 'read',
        parameters: schema,
        handler: execute,
        human_approval: 'always',
      },
    ])

    expect(await callAs('*')).toContain('requires human approval')
    expect(bridge.diagnostics).toMatchObject([{ code: 'approval_assumed', severity: 'info' }])
  })
})
