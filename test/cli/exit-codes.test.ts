import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { aManifest, toYaml } from '../support/a-manifest.ts'
import { aConfig, aProject, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridgeProcess, main } from '../support/run-cli.ts'

// Other tests run commands in one shared process; these start a new process for each command.
const cwd = await aSharedProject({
  'drawbridge.yaml': aConfig(),
  'tools/echo.ts': aToolModule({
    name: 'echo',
    schema: 'z.object({ word: z.string().optional() })',
    body: 'return input',
  }),
  'agent.yaml': toYaml(aManifest()),
  'notes.ndjson': '{"id":"1","text":"one"}\n',
})

test.each<[string, number, RegExp]>([
  ['', 0, /drawbridge/],
  ['--version', 0, /^\d+\.\d+\.\d+\n$/],
  ['serve --port many', 2, /--port/],
  ['check', 0, /^1 tool, 0 errors/],
  ['check ./no/such/folder', 2, /no\/such\/folder/],
  ['list', 0, /^echo/],
  ['call echo {"word":"hello"}', 0, /"hello"/],
  ['call nothing {}', 1, /nothing/],
  ['project agent.yaml', 0, /"look-up-order"/],
  ['connect cursor', 0, /"mcpServers"/],
  ['explain echo', 0, /^permissions +pass/],
  ['diff . .', 0, /^0 changes/],
  ['import openapi ./nothing.yaml', 2, /nothing\.yaml/],
  ['approvals list', 0, /approval/],
  ['runs list', 0, /^/],
  ['executions', 0, /^/],
  ['audit', 0, /echo done/],
  ['records streams notes.ndjson --stream notes', 0, /"notes"/],
  ['grants list', 2, /personal\.db/],
  ['token --subject ann', 0, /ann/],
])('`drawbridge %s` in its own process exits with %i', async (line, code, output) => {
  const run = await drawbridgeProcess(line.split(' ').filter(Boolean), { cwd })

  expect(run).toMatchObject({ code })
  expect(run.stdout + run.stderr).toMatch(output)
})

test('`drawbridge call` reads the arguments from standard input', async () => {
  const call = (input: string) => drawbridgeProcess(['call', 'echo', '-'], { cwd, input })

  expect(await call('{"word":"piped"}')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('piped'),
  })
  expect(await call('{')).toMatchObject({ code: 2, stdout: '' })
})

test('a verb whose reader closes the pipe ends without an error message', async () => {
  const project = await aProject({
    'drawbridge.yaml': aConfig(),
    'tools/many.ts': `import { defineTool, z } from 'drawbridge-mcp'
      export default Array.from({ length: 3000 }, (_, n) => defineTool({
        name: 'tool_' + n, description: 'A tool.', category: 'analysis', schema: z.object({}), execute: () => n,
      }))`,
  })
  const list = `"${process.execPath}" "${main}" list --json`

  // 3,000 tools are more than a pipe holds, so that writing goes on after the reader has closed it.
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', `${list} | head -c 1`], {
    cwd: project,
  })

  expect([stdout, stderr]).toEqual(['[', ''])
})
