// What the official clients do while `record.mjs` records them: everything that a host can do with a server.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

const identity = { name: 'recorded', version: '1.0.0' }
const capabilities = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
}

const answers = {
  elicit: async () => ({ action: 'accept', content: { response: 'yes', name: 'Ada', step1: 'a' } }),
  sample: async () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Paris' },
    model: 'none',
    stopReason: 'endTurn',
  }),
  roots: async () => ({ roots: [{ uri: 'file:///project', name: 'project' }] }),
}

function createV1() {
  const client = new ClientV1(identity, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, answers.elicit)
  client.setRequestHandler(CreateMessageRequestSchema, answers.sample)
  client.setRequestHandler(ListRootsRequestSchema, answers.roots)
  return client
}

function createV2(versionNegotiation) {
  const client = new Client(identity, {
    capabilities,
    ...(versionNegotiation && { versionNegotiation }),
  })
  client.setRequestHandler('elicitation/create', answers.elicit)
  client.setRequestHandler('sampling/createMessage', answers.sample)
  client.setRequestHandler('roots/list', answers.roots)
  return client
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const ignore = () => {}

async function exercise(client, era) {
  const call = (name, input = {}, options = {}) =>
    (client instanceof ClientV1
      ? client.callTool({ name, arguments: input }, undefined, options)
      : client.callTool({ name, arguments: input }, options)
    ).catch(ignore)
  await pause(200) // the 2025 clients open their stream in the background
  await client.listTools()
  await client.listResources()
  await client.listResourceTemplates()
  await client.listPrompts()
  if (era === '2025') {
    await client.ping()
    await client.setLoggingLevel('info')
    await client.subscribeResource({ uri: 'test://watched-resource' })
    await client.sendRootsListChanged()
  } else {
    const all = { toolsListChanged: true, promptsListChanged: true }
    await client.listen({ ...all, resourceSubscriptions: ['test://watched-resource'] })
  }
  for (const name of ['simple_text', 'image_content', 'embedded_resource', 'error_handling'])
    await call(`test_${name}`)
  await call('no_such_tool')
  await call('test_simple_text', { unknown: true })
  await call('json_schema_2020_12_tool', { name: 'Ada' })
  await call('test_x_mcp_header', { region: 'eu-west-1', level: 3 })
  await call('test_tool_with_logging')
  await call('test_tool_with_progress', {}, { onprogress: ignore })
  await call('test_elicitation', { message: 'Who are you?' })
  await call('test_elicitation_sep1034_defaults')
  await call('test_sampling', { prompt: 'The capital of France?' })
  await call('test_input_required_result_list_roots')
  await call('test_input_required_result_multiple_inputs')
  await call('test_input_required_result_multi_round')
  await Promise.all([
    call('test_reconnection'),
    call('test_simple_text'),
    call('test_reconnection'),
  ])
  const abort = new AbortController()
  const cancelled = call('test_reconnection', {}, { signal: abort.signal })
  await pause(30)
  abort.abort()
  await cancelled
  await pause(300)
  await client.readResource({ uri: 'test://static-text' })
  await client.readResource({ uri: 'test://template/7/data' })
  await client.readResource({ uri: 'test://nowhere' }).catch(ignore)
  await client.getPrompt({ name: 'test_simple_prompt' })
  const named = { name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } }
  await client.getPrompt(named)
  await client.getPrompt({ name: 'test_prompt_with_arguments' }).catch(ignore)
  await client.complete({
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    argument: { name: 'arg1', value: 'te' },
  })
  await call('test_trigger_tool_change')
  await pause(250)
  await call('test_trigger_prompt_change')
  await pause(250)
  await client.listTools()
  if (era === '2025') await client.unsubscribeResource({ uri: 'test://watched-resource' })
}

const toDriver = (create, era, Http, Stdio) => {
  const drive = async (transport) => {
    const client = create()
    await client.connect(transport)
    await exercise(client, era)
    await transport.terminateSession?.()
    await client.close()
    await pause(100)
  }
  return {
    driveHttp: (url) => drive(new Http(new URL(url))),
    driveStdio: (server) => drive(new Stdio(server)),
  }
}

export const drivers = {
  'sdk-v1': toDriver(createV1, '2025', HttpV1, StdioV1),
  'sdk-v2-2025': toDriver(createV2, '2025', StreamableHTTPClientTransport, StdioClientTransport),
  'sdk-v2-2026': toDriver(
    () => createV2({ mode: { pin: '2026-07-28' } }),
    '2026',
    StreamableHTTPClientTransport,
    StdioClientTransport,
  ),
}
