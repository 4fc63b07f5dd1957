import { expect, test } from 'vitest'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { drawbridgeProcess } from '../support/run-cli.ts'

test('a call prints no warning of Node about its SQLite', async () => {
  const cwd = await aProject({
    'drawbridge.yaml': aConfig(),
    'tools/ping.ts': aToolModule({ name: 'ping' }),
  })

  const { code, stderr } = await drawbridgeProcess(['call', 'ping'], { cwd })

  expect(code).toBe(0)
  expect(stderr).toBe('')
})

test('other warnings of Node appear', async () => {
  const cwd = await aProject({
    'drawbridge.yaml': aConfig(),
    'tools/ping.ts': `${aToolModule({ name: 'ping' })}\nprocess.emitWarning('from a tool')`,
  })

  const { stderr } = await drawbridgeProcess(['call', 'ping'], { cwd })

  expect(stderr).toContain('Warning: from a tool')
})
