import { expect, onTestFinished, test } from 'vitest'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { eventually } from '../support/eventually.ts'
import { aModernRequest } from '../support/modern-request.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { spawnStdio } from '../support/spawn-server.ts'
import { aModernPost, answerOf, aPostOf2025, initializeSession, post } from '../support/wire.ts'

const stuck = {
  schema: 'z.object({ era: z.string() })',
  body: 'process.stderr.write("began " + input.era); await new Promise(() => {})',
}
const files = {
  'drawbridge.yaml': aConfig(),
  'tools/pay.ts': aToolModule({ name: 'pay', category: 'write', ...stuck }),
  'tools/look.ts': aToolModule({ name: 'look', ...stuck }),
}
const failureOf = (answer: { result?: object }) =>
  (answer.result as { _meta: Record<string, unknown> })._meta['dev.drawbridge/failure']

test('calls that outlast --grace: effects are answered with outcome_unknown, reads with cancelled', async () => {
  const cwd = await aProject(files)
  const server = await startServing(['--grace', '0.2'], { cwd })
  const session = await initializeSession(server.url)
  const modern = (name: string) =>
    post(server.url, aModernPost('tools/call', { name, arguments: { era: `2026 ${name}` } }))
  const legacy = aPostOf2025('tools/call', { name: 'pay', arguments: { era: '2025' } }, session)
  const answers = [modern('pay'), modern('look'), post(server.url, legacy)].map(async (response) =>
    answerOf(await response),
  )
  for (const era of ['2026 pay', '2026 look', '2025'])
    await server.waitForOutput(new RegExp(`began ${era}`))

  server.process.kill('SIGTERM')
  const [modernPay = {}, modernLook = {}, legacyPay = {}] = await Promise.all(answers)

  for (const answer of [modernPay, legacyPay]) {
    expect(failureOf(answer)).toMatchObject({ code: 'outcome_unknown', retryable: false })
    expect(JSON.stringify(answer)).toContain('drawbridge runs settle')
  }
  expect(failureOf(modernLook)).toMatchObject({ code: 'cancelled', retryable: true })
  expect(await server.exited).toBe(0)
  const runs = await drawbridge(['runs', 'list', '--json'], { cwd })
  expect(JSON.parse(runs.stdout)).toMatchObject([{ state: 'unknown' }, { state: 'unknown' }])
})

test('over stdio, an effect that runs at SIGTERM is answered with outcome_unknown', async () => {
  const server = spawnStdio(await aProject(files))
  onTestFinished(async () => void (await server.stop()))
  await server.request(aModernRequest('server/discover', {}, 1))
  const call = { name: 'pay', arguments: { era: 'stdio' } }
  const answer = server.request(aModernRequest('tools/call', call, 2))
  await eventually(() => expect(server.stderr).toContain('began stdio'))

  const { code } = await server.stop()

  expect(failureOf(await answer)).toMatchObject({ code: 'outcome_unknown' })
  expect(code).toBe(0)
})

test('over stdio, a second request with the id of one that is running is refused', async () => {
  const server = spawnStdio(await aProject(files))
  onTestFinished(async () => void (await server.stop()))
  await server.request(aModernRequest('server/discover', {}, 1))
  const call = aModernRequest('tools/call', { name: 'look', arguments: { era: 'stdio' } }, 2)
  void server.send(call)
  await eventually(() => expect(server.stderr).toContain('began stdio'))

  const second = await server.request(call)

  expect(second).toMatchObject({ id: 2, error: { code: -32600 } })
  expect(server.stderr.match(/began/g)).toHaveLength(1)
})

test.each(['-1', 'soon', '1e9'])('--grace %j is a usage error', async (grace) => {
  const cwd = await aProject(files)

  const { code, stderr } = await drawbridge(['serve', `--grace=${grace}`], { cwd })

  expect(code).toBe(2)
  expect(stderr).toContain('--grace must be a number of seconds')
})
