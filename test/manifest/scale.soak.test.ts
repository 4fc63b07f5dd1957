import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createDrawbridge, type Drawbridge, manifestSource } from '../../src/index.ts'
import { projectManifest } from '../../src/runtime/project-manifest.ts'
import { aManifest, answering, aWritingCapability, toYaml } from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'

const input_schema = {
  type: 'object',
  properties: {
    order: { type: 'string', pattern: '^A-[0-9]{4}$', description: 'Such as A-1001.' },
    reason: { type: 'string', minLength: 3, maxLength: 500 },
  },
  required: ['order'],
  additionalProperties: false,
}

const manifestOf = (count: number) =>
  aManifest({
    requirements: { permissions: ['orders.read', 'orders.write'] },
    capabilities: Array.from({ length: count }, (_, index) => ({
      ...(index % 3 === 2 && aWritingCapability()),
      id: `capability-${index}`,
      input_schema,
      permissions: [index % 3 === 2 ? 'orders.write' : 'orders.read'],
    })),
  })

async function written(count: number) {
  const manifest = manifestOf(count)
  const folder = await aProject({})
  const file = path.join(folder, 'agent.yaml')
  writeFileSync(file, toYaml(manifest))
  return { file, handlers: answering(manifest) }
}

async function bestOf(times: number, measured: () => Promise<void>): Promise<number> {
  const took: number[] = []
  for (let time = 0; time < times; time++) {
    const before = process.cpuUsage()
    await measured()
    const { user, system } = process.cpuUsage(before)
    took.push((user + system) / 1000)
  }
  return Math.min(...took)
}

test('a manifest of 1,000 capabilities loads and projects in under a second', async () => {
  const { file, handlers } = await written(1000)

  const loading = await bestOf(3, async () => {
    const bridge = createDrawbridge({ sources: [manifestSource(file, { handlers })] })
    await bridge.ready
    expect((await bridge.list()).tools).toHaveLength(1000)
    await bridge.close(0)
  })
  const projecting = await bestOf(3, async () => {
    const options = { file, extensions: [], strict: true, all: false }
    const { json } = await projectManifest('mcp', options)
    expect(json?.tools).toHaveLength(1000)
  })

  console.info(
    `1,000 capabilities: loaded and listed in ${Math.round(loading)} ms, projected in ${Math.round(projecting)} ms`,
  )
  expect(loading).toBeLessThan(1000)
  expect(projecting).toBeLessThan(1000)
})

test('one of 1,000 is called as fast as one of 10', async () => {
  const medians: number[] = []
  const bridges: Drawbridge[] = []
  for (const count of [10, 1000]) {
    const { file, handlers } = await written(count)
    const bridge = createDrawbridge({ sources: [manifestSource(file, { handlers })] })
    await bridge.ready
    bridges.push(bridge)
  }
  const took = bridges.map((): number[] => [])
  // In turn, so that whatever else the machine does is shared by both.
  for (let call = 0; call < 600; call++)
    for (const [index, bridge] of bridges.entries()) {
      const started = performance.now()
      // The same ten: each schema is compiled when it is first used.
      const result = await bridge.call(`capability-${(call % 3) * 3}`, { order: 'A-1001' })
      if (call >= 100) took[index]?.push(performance.now() - started)
      expect(result.isError).toBeUndefined()
    }
  for (const times of took) {
    times.sort((a, b) => a - b)
    medians.push(times[Math.floor(times.length / 2)] ?? 0)
  }
  await Promise.all(bridges.map((bridge) => bridge.close(0)))
  const [few = 0, many = 0] = medians

  console.info(
    `median call: ${few.toFixed(3)} ms of 10, ${many.toFixed(3)} ms of 1,000 (ratio ${(many / few).toFixed(2)})`,
  )
  expect(many / few).toBeLessThan(2)
})
