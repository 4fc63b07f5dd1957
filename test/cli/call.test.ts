import { describe, expect, test } from 'vitest'
import { aConfig, aSharedProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const cwd = await aSharedProject({
  'drawbridge.yaml': aConfig(),
  'tools/add.ts': aToolModule({
    name: 'add',
    schema: 'z.object({ a: z.number().default(1), b: z.number().default(1) })',
    body: 'return { sum: input.a + input.b }',
  }),
  'tools/refuse.ts': aToolModule({
    name: 'refuse',
    body: 'return { tool: "refuse", fetchedAt: new Date().toISOString(), error: "No such order." }',
  }),
  'tools/fail.ts': aToolModule({ name: 'fail', body: 'throw new Error("password is hunter2")' }),
  'tools/chatty.ts': aToolModule({
    name: 'chatty',
    body: 'console.log("thinking"); process.stdout.write("still thinking\\n"); return "thought"',
  }),
})

const approvalProject = await aSharedProject({
  'drawbridge.yaml': aConfig('policy: { rules: [{ match: pay, approval: true }] }\n'),
  'tools/pay.ts': aToolModule({ name: 'pay' }),
})

describe('drawbridge call', () => {
  test.each<[string, string[], string, string]>([
    ['with arguments', ['call', 'add', '{"a":2,"b":3}'], '', '{"sum":5}\n'],
    ['without arguments', ['call', 'add'], '', '{"sum":2}\n'],
    ['with arguments from standard input', ['call', 'add', '-'], '{"a":40}\n', '{"sum":41}\n'],
    ['with a folder', ['call', '.', 'add', '{"a":2}'], '', '{"sum":3}\n'],
    [
      'with a module and a leading flag',
      ['call', '--mount', '/mcp', 'tools/add.ts', 'add', '-'],
      '{"b":9}',
      '{"sum":10}\n',
    ],
  ])('prints the answer of the tool, called %s', async (_, args, input, answer) => {
    expect(await drawbridge(args, { cwd, input })).toEqual({ code: 0, stdout: answer, stderr: '' })
  })

  test('--json prints the whole result', async () => {
    const { code, stdout } = await drawbridge(['call', 'add', '{"a":2}', '--json'], { cwd })

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      content: [{ type: 'text', text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
      _meta: { 'dev.drawbridge/call-id': expect.any(String) },
    })
  })

  test('exits with 1 when the tool returns an error, and prints the error', async () => {
    const { code, stdout } = await drawbridge(['call', 'refuse'], { cwd })

    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Error: No such order.\n' })
  })

  test('exits with 1 when an argument is invalid, and names the argument', async () => {
    const { code, stdout } = await drawbridge(['call', 'add', '{"a":"two"}'], { cwd })

    expect(code).toBe(1)
    expect(stdout).toContain('/a')
  })

  test('exits with 1 when the tool throws: the cause is in the log and not in the answer', async () => {
    const { code, stdout, stderr } = await drawbridge(['call', 'fail', '--json'], { cwd })
    const callId = JSON.parse(stdout)._meta['dev.drawbridge/call-id']

    expect(code).toBe(1)
    expect(stdout).not.toContain('hunter2')
    expect(stderr).toContain('hunter2')
    expect(stderr).toContain(callId)
  })

  test('exits with 1 for an unknown tool, and refers to `drawbridge list`', async () => {
    const { code, stdout, stderr } = await drawbridge(['call', 'no_such_tool'], { cwd })

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/no_such_tool.*drawbridge list/)
  })

  test('prints only the answer to standard output, even when the tool prints, too', async () => {
    const { stdout, stderr } = await drawbridge(['call', 'chatty'], { cwd })

    expect(stdout).toBe('thought\n')
    expect(stderr).toBe('thinking\nstill thinking\n')
  })

  test('prints the full approval command to standard error, and no path in the answer', async () => {
    const call = await drawbridge(['call', approvalProject, 'pay'])
    const [command = ''] = call.stderr.match(/^drawbridge approvals .*$/m) ?? []
    const approval = await drawbridge(command.split(' ').slice(1))

    expect(call.code).toBe(1)
    expect(call.stdout).toContain("in the folder of the server's configuration")
    expect(call.stdout).not.toContain(approvalProject)
    expect(approval).toMatchObject({ code: 0, stderr: '' })
  })
})
