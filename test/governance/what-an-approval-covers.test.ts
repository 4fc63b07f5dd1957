import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import * as library from '../../src/index.ts'
import { openDrawbridge } from '../../src/runtime/open-drawbridge.ts'
import { aManifest, anInterface, aWritingCapability, toYaml } from '../support/a-manifest.ts'
import { aProject, put } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'

/** The state of a project that each round changes in one place. Every file logs its runs to `ran`. */
interface Version {
  readonly description: string
  readonly timeout: number
  readonly approvers: string
  readonly port: number
  readonly agents: string
  readonly pay: string
  readonly imported: string
  readonly importedLater: string
  readonly handler: string
  readonly service: string
}

const toFiles = (version: Version): Record<string, string> => ({
  'drawbridge.yaml': `
sources:
  - definitions: ./tools/*.ts
  - { manifest: ./agent.yaml, handlers: ./handlers.ts }
  - intents: ./agents.ts
  - service: ./lamp.ts
policy:
  limits: { timeout: ${version.timeout} }
  rules:
    - { match: ['pay', 'refund-order', 'close-order', 'Send', 'switch_on'], approval: true }
    - { match: 'pay', approvers: [${version.approvers}] }
`,
  'tools/pay.ts': `
import { defineTool, z } from 'drawbridge-mcp'
import { pay } from '../lib/pay.js'
export default defineTool({
  name: 'pay', description: ${JSON.stringify(version.description)}, category: 'write',
  schema: z.object({ round: z.number() }),
  async execute() {
    const { later } = await import('../lib/later.ts')
    globalThis.ran.push(${JSON.stringify(version.pay)}, pay, later)
    return {}
  },
})`,
  'lib/pay.ts': `export const pay = ${JSON.stringify(version.imported)}`,
  'lib/later.ts': `export const later = ${JSON.stringify(version.importedLater)}`,
  'handlers.ts': `export const closeOrder = () => { globalThis.ran.push(${JSON.stringify(version.handler)}); return {} }`,
  'agents.ts': `
import { defineAgent } from 'drawbridge-mcp'
const agent = (name, text) => defineAgent({
  name, capabilities: [{ intent: 'Send', description: 'Sends.', effects: 'irreversible' }],
  handle: () => { globalThis.ran.push(text); return {} },
})
export default [${version.agents}]`,
  'lamp.ts': `
const actions = { switch_on: { description: 'Switches it on.', schema: { type: 'object' }, execute: async () => { globalThis.ran.push(${JSON.stringify(version.service)}) } } }
export default { actions: (next) => { next(actions); return () => {} } }`,
  'agent.yaml': toYaml(
    aManifest({
      capabilities: [
        aWritingCapability({ protocols: ['HTTP', 'MCP'] }),
        aWritingCapability({ id: 'close-order' }),
      ],
      interfaces: [
        anInterface({
          protocol: 'HTTP',
          endpoint: `http://127.0.0.1:${version.port}/orders`,
          auth: 'none',
        }),
        { name: 'desk', protocol: 'INTERNAL', auth: 'none', privileged: false },
      ],
    }),
  ),
})

const first: Version = {
  description: 'Pays.',
  timeout: 20_000,
  approvers: 'eve',
  port: 1,
  agents: "agent('a', 'a1')",
  pay: 'pay 0',
  imported: 'imported 0',
  importedLater: 'later 0',
  handler: 'handler 0',
  service: 'service 0',
}

interface Change {
  readonly tool: string
  readonly changed: readonly string[]
  readonly to: (round: number, port: number) => Partial<Version>
}

const changes: Readonly<Record<string, Change>> = {
  'the definition': {
    tool: 'pay',
    changed: ['description', 'code'],
    to: (round) => ({ description: `Pays ${round}.` }),
  },
  'a rule of the policy': {
    tool: 'pay',
    changed: ['rules'],
    to: (round) => ({ approvers: `eve, approver-${round}` }),
  },
  'a setting of the policy': {
    tool: 'pay',
    changed: ['policy'],
    to: (round) => ({ timeout: 20_000 - round }),
  },
  'the endpoint': { tool: 'refund-order', changed: ['destination'], to: (_, port) => ({ port }) },
  'the agents that may be asked': {
    tool: 'Send',
    changed: ['destination'],
    to: (round) => ({ agents: `agent('a', 'a1'), agent('b${round}', 'b')` }),
  },
  'the code of an agent': {
    tool: 'Send',
    changed: ['destination'],
    to: (round) => ({ agents: `agent('a', 'a1 changed ${round}')` }),
  },
  'the code of a definition': {
    tool: 'pay',
    changed: ['code'],
    to: (round) => ({ pay: `pay ${round}` }),
  },
  'a module that the code imports': {
    tool: 'pay',
    changed: ['code'],
    to: (round) => ({ imported: `imported ${round}` }),
  },
  'a module that the code imports during a call': {
    tool: 'pay',
    changed: ['code'],
    to: (round) => ({ importedLater: `later ${round}` }),
  },
  'the code of a handler': {
    tool: 'close-order',
    changed: ['code'],
    to: (round) => ({ handler: `handler ${round}` }),
  },
  'the code of a service': {
    tool: 'switch_on',
    changed: ['code'],
    to: (round) => ({ service: `service ${round}` }),
  },
}

const rounds = amount(1, 100)

test.each(Object.entries(changes))(
  `a change of %s between approval and call runs nothing, ${rounds} times`,
  async (_, { tool, changed, to }) => {
    const { ran, port, anotherPort, open, write } = await aChangingProject()
    const before = { ...first, port }
    for (let round = 1; round <= rounds; round++) {
      await write(before)
      const asking = await open()
      const id = await asking.request(tool, { round })
      expect(await asking.bridge.approvals.decide(id, 'approved', 'eve')).toHaveProperty('approval')
      await asking.bridge.close()

      await write({ ...before, ...to(round, anotherPort) })
      const { bridge, call } = await open()
      const result = await call(tool, { round })

      expect(result).toMatchObject({ code: 'approval_void', details: { void: id, changed } })
      expect(bridge.audit).toContainEqual(
        expect.objectContaining({ event: 'approval_void', id, changed }),
      )
      await bridge.close()
    }
    expect(ran).toEqual([])
  },
  120_000,
)

test('nothing but the approved version runs, and it runs once', async () => {
  const { ran, port, open, write } = await aChangingProject()
  await write({ ...first, port })
  const asking = await open()
  const id = await asking.request('pay', { round: 1 })
  await asking.bridge.approvals.decide(id, 'approved', 'eve')
  await asking.bridge.close()

  const { bridge, call } = await open()

  expect(await call('pay', { round: 1 })).toEqual({})
  expect(ran).toEqual(['pay 0', 'imported 0', 'later 0'])
  await bridge.close()
})

test.each<[string, Partial<Version>]>([
  ['pay', { importedLater: 'later 1' }],
  ['Send', { agents: "agent('a', 'a2')" }],
])(
  'code that changes on disk under a running server makes the approval void: %s',
  async (tool, change) => {
    const { ran, port, open, write } = await aChangingProject()
    await write({ ...first, port })
    const { bridge, request, call } = await open()
    const id = await request(tool, { round: 1 })
    await bridge.approvals.decide(id, 'approved', 'eve')

    await write({ ...first, port, ...change })
    const result = await call(tool, { round: 1 })

    expect(result).toMatchObject({
      code: 'approval_void',
      details: { void: id, changed: ['code'] },
    })
    expect(result.message).toContain('The operator has to restart the server')
    expect(ran).toEqual([])
    await bridge.close()
  },
)

/** A project on disk, two upstream servers, and the runs of all tools. */
async function aChangingProject() {
  const ran: string[] = []
  Object.assign(globalThis, { ran })
  const port = await listen(() => ran.push('upstream'))
  const anotherPort = await listen(() => ran.push('another upstream'))
  const folder = await aProject({})
  const write = async (version: Version) => {
    for (const [name, text] of Object.entries(toFiles(version)))
      await put(path.join(folder, name), text)
  }
  const open = async () => {
    const options = {
      library: async () => library,
      environment: {},
      store: 'create',
      fresh: true,
    } as const
    const { bridge } = await openDrawbridge(folder, options)
    const call = async (name: string, input: object) => {
      const { _meta, structuredContent } = await bridge.call(name, input, {
        idempotencyKey: `${name} ${JSON.stringify(input)}`,
      })
      return (_meta?.['dev.drawbridge/failure'] ?? structuredContent) as Record<string, unknown>
    }
    const request = async (name: string, input: object) => {
      const { code, details } = await call(name, input)
      expect(['approval_required', 'approval_void']).toContain(code)
      return String((details as { approval: string }).approval)
    }
    return { bridge, call, request }
  }
  return { ran, port, anotherPort, open, write }
}

async function listen(onRequest: () => void): Promise<number> {
  const server = createServer((_, response) => {
    onRequest()
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
