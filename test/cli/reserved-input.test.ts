import { expect, test } from 'vitest'
import { aProject } from '../support/a-project.ts'
import { drawbridgeProcess } from '../support/run-cli.ts'

/** A module that starts a server of its own when it is loaded, as public MCP servers do. */
const server = `import process from 'node:process'
process.stdin.on('data', (chunk) => console.error('the module read ' + chunk))
export const deleteFile = {
  name: 'delete_file',
  description: 'Deletes a file.',
  schema: { type: 'object', properties: {} },
  category: 'delete',
  requiresConfirmation: true,
  execute: () => 'deleted',
}
`

const lines = [
  {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'delete_file', arguments: {} } },
]

test('a module that reads standard input gets nothing of what the client sends', async () => {
  const cwd = await aProject({ 'server.mjs': server })
  const input = lines.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('')

  const { stdout, stderr } = await drawbridgeProcess(['serve', 'server.mjs', '--stdio'], {
    cwd,
    input,
  })

  expect(stderr).not.toContain('the module read')
  expect(stdout).toContain('requires human approval')
  expect(stdout).not.toContain('deleted')
})
