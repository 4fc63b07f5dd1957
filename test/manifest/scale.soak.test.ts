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

async function writeManifest(count: number) {
  const manifest = manifestOf(count)
  const folder = await aProject({})
  const file = path.join(folder, 'agent.yaml')
  writeFileSync(file, toYaml(manifest))
  return { file, handlers: answering(manifest) }
}

async function bestCpuMs(times: number, run: () => Promise<void>): Promise<number> {
  const elapsedMs: number[] = []
  for (let time = 0; time < times; time++) {
    const cpuBefore = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(cpuBefore)
    elapsedMs.push((user + system) / 1000)
  }
  return Math.min(...elapsedMs)
}

test('a manifest of 1,000 capabilities loads and projects in under a second', async () => {
  const { file, handlers } = await writeManifest(1000)

  const loadCpuMs = await bestCpuMs(3, async () => {
    const bridge = createDrawbridge({ sources: [manifestSource(file, { handlers })] })
    await bridge.ready
    expect((await bridge.list()).tools).toHaveLength(1000)
    await bridge.close(0)
  })
  const projectCpuMs = await bestCpuMs(3, async () => {
    const options = { file, extensions: [], strict: true, all: false }
    const { json } = await projectManifest('mcp', options)
    expect(json?.tools).toHaveLength(1000)
  })

  console.info(
    `1,000 capabilities: loaded and listed in ${Math.round(loadCpuMs)} ms, projected in ${Math.round(projectCpuMs)} ms`,
  )
  expect(loadCpuMs).toBeLessThan(1000)
  expect(projectCpuMs).toBeLessThan(1000)
})

test('a call of one capability among 1,000 takes less than twice as long as among 10', async () => {
  const medians: number[] = []
  const bridges: Drawbridge[] = []
  for (const count of [10, 1000]) {
    const { file, handlers } = await writeManifest(count)
    const bridge = createDrawbridge({ sources: [manifestSource(file, { handlers })] })
    await bridge.ready
    bridges.push(bridge)
  }
  const elapsedMs = bridges.map((): number[] => [])
  // Alternate, so that background load affects both equally.
  for (let call = 0; call < 600; call++)
    for (const [index, bridge] of bridges.entries()) {
      const startMs = performance.now()
      // The same few capabilities in both: a schema is compiled on first use.
      const result = await bridge.call(`capability-${(call % 3) * 3}`, { order: 'A-1001' })
      if (call >= 100) elapsedMs[index]?.push(performance.now() - startMs)
      expect(result.isError).toBeUndefined()
    }
  for (const times of elapsedMs) {
    times.sort((a, b) => a - b)
    medians.push(times[Math.floor(times.length / 2)] ?? 0)
  }
  await Promise.all(bridges.map((bridge) => bridge.close(0)))
  const [medianOf10 = 0, medianOf1000 = 0] = medians

  console.info(
    `median call: ${medianOf10.toFixed(3)} ms of 10, ${medianOf1000.toFixed(3)} ms of 1,000 (ratio ${(medianOf1000 / medianOf10).toFixed(2)})`,
  )
  expect(medianOf1000 / medianOf10).toBeLessThan(2)
})
