import { mkdir, readFile, symlink } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { aProject } from '../support/a-project.ts'
import { filesLoadedBy } from '../support/loaded-files.ts'
import { aModernRequest } from '../support/modern-request.ts'
import { drawbridgeProcess } from '../support/run-cli.ts'
import { repository } from '../support/spawn-server.ts'

const packagesOf = (files: readonly string[]): string[] => [
  ...new Set(
    files.flatMap((file) => file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []),
  ),
]

/** The modules in the loaded files of the bundle: it names each of them in a comment. */
async function modulesOf(files: readonly string[]): Promise<string[]> {
  const bundled = files.filter((file) => file.startsWith(path.join(repository, 'dist/bundle/')))
  const texts = await Promise.all(bundled.map((file) => readFile(file, 'utf8')))
  return texts.flatMap((text) =>
    [...text.matchAll(/^\/\/ (\S+\.[cm]?[jt]s)$/gm)].map(([, name]) => name ?? ''),
  )
}

test('--help loads no verb and no schema', async () => {
  const files = await filesLoadedBy((env) => drawbridgeProcess(['--help'], { env }))

  const modules = await modulesOf(files)
  expect(modules).toContain('src/cli/run.ts')
  expect(
    modules.filter((name) =>
      /\/zod\/|src\/(runtime\/(?!records\/credential-error)|cli\/(serve|list)\.ts)/.test(name),
    ),
  ).toEqual([])
  expect(packagesOf(files)).toEqual([])
})

test('a server of definitions lists its tools without loading other kinds of source', async () => {
  const folder = await aProject({
    'drawbridge.yaml': 'sources: [{ definitions: ./tools.mjs }]',
    'tools.mjs': `import { defineTool, z } from 'drawbridge-mcp'
export default defineTool({
  name: 'ping', description: 'Pings.', category: 'read', schema: z.object({}), execute: () => 'pong',
})`,
  })
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(repository, path.join(folder, 'node_modules/drawbridge-mcp'))
  const input = `${JSON.stringify(aModernRequest('tools/list'))}\n`
  let answer = ''

  const files = await filesLoadedBy(async (env) => {
    answer = (await drawbridgeProcess(['serve', folder, '--stdio'], { env, input })).stdout
  })

  const modules = await modulesOf(files)
  expect(answer).toContain('"ping"')
  expect(modules).toContain('src/sources/definitions/definition-source.ts')
  for (const name of [
    'src/sources/manifest/manifest-source.ts',
    'src/sources/manifest/reading/manifest-shape.ts',
    'src/sources/manifest/openapi/from-openapi.ts',
    'src/sources/records/record-source.ts',
    'src/sources/intents/intent-source.ts',
    'src/sources/services/service-source.ts',
    'src/storage/records/sqlite-records.ts',
    'src/http/handler.ts',
  ])
    expect(modules).not.toContain(name)
  expect(modules.filter((name) => /\/(@nats-io|jose|ajv)\//.test(name))).toEqual([])
  expect(packagesOf(files)).not.toContain('ajv')
  expect(packagesOf(files)).not.toContain('pino')
  expect(packagesOf(files)).not.toContain('jiti')
})
