// Serves an OpenAPI document from the built program, with a mock of its API behind it, and calls every
// operation once with generated arguments: `node scripts/try-openapi.mjs FILE [--show 10]`.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs, promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createJiti } from 'jiti'

const jiti = createJiti(import.meta.url)
const support = (name) => jiti.import(path.resolve(`test/support/api/${name}.ts`))
const { ApiDocument } = await support('api-document')
const { compareArguments } = await support('compare-arguments')
const { generateArguments } = await support('generate-arguments')
const { startMockApi } = await support('mock-api')
const { listOperations } = await support('operations')
const { unsafeTexts } = await support('unsafe-texts')

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    show: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
})
const file = path.resolve(positionals[0] ?? '')
const main = path.resolve('dist/cli/main.js')

const document = new ApiDocument(file)
const operations = listOperations(document)
const schemes = document.isSwagger
  ? document.get(document.root, 'securityDefinitions')
  : document.get(document.root, 'components', 'securitySchemes')
const credentials = { accepts: (value) => value === 'user:secret' || value === 'secret-value' }
const api = await startMockApi(document, {
  basePath: '/base',
  credentials: Object.fromEntries(document.keys(schemes).map((name) => [name, credentials])),
})

const folder = mkdtempSync(path.join(os.tmpdir(), 'try-openapi-'))
writeFileSync(path.join(folder, 'drawbridge.yaml'), JSON.stringify(toConfig()))
try {
  const checked = await timed(() => run('check', '--json'))
  const client = new Client({ name: 'try-openapi', version: '1.0.0' })
  const loaded = await timed(async () => {
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [main, 'serve', '--stdio'],
        cwd: folder,
        stderr: 'ignore',
      }),
    )
    const { tools } = await client.listTools()
    return tools
  })
  const listed = await run('list', '--json')
  const hidden = listed.filter((one) => one.hidden).map(toTool)
  const report = await callAll(client, [...loaded.value, ...hidden])
  await client.close()
  print(checked, loaded, hidden.length, report)
} finally {
  await api.close()
  rmSync(folder, { recursive: true, force: true })
}

function toConfig() {
  const secrets = document.keys(schemes).map((name) => {
    const { type, scheme } = document.get(schemes, name).value
    const isBasic =
      type === 'basic' || (type === 'http' && String(scheme).toLowerCase() === 'basic')
    const secret = isBasic ? { user: 'user', password: 'secret' } : { value: 'secret-value' }
    return [name, { host: api.host, ...secret }]
  })
  return {
    name: 'try-openapi',
    version: '1.0.0',
    sources: [{ openapi: file, server: api.url, secrets: Object.fromEntries(secrets) }],
  }
}

/** Deprecated operations can be called, but are not listed. */
function toTool({ portableName, name, input, extras }) {
  return {
    name: portableName ?? name,
    inputSchema: input,
    _meta: { 'dev.drawbridge/extras': extras },
  }
}

async function timed(run) {
  const start = performance.now()
  return { value: await run(), seconds: ((performance.now() - start) / 1000).toFixed(1) }
}

async function run(...args) {
  const options = { cwd: folder, maxBuffer: 1e9 }
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], options).catch(
    (error) => error,
  )
  return JSON.parse(stdout)
}

async function callAll(client, tools) {
  const byRoute = new Map(operations.map((one) => [`${one.method} ${one.route}`, one]))
  const called = new Set()
  const wrong = []
  for (const [index, tool] of tools.entries()) {
    const label = tool._meta?.['dev.drawbridge/extras']?.http ?? ''
    const operation = byRoute.get(label)
    const name = `${label} (${tool.name})`
    if (!operation) {
      wrong.push(`${name}: no such operation in the document`)
      continue
    }
    called.add(label)
    let sent
    try {
      sent = generateArguments(tool.inputSchema, {
        seed: Number(values.seed) + index,
        unsafe: unsafeTexts(operation, tool.inputSchema),
      })
    } catch (error) {
      wrong.push(`${name}: ${error.message}`)
      continue
    }
    // A value can contain what follows the variable in its segment, such as `{name}:publish` or `{name}.html`.
    api.expect(/#|\}[^/]/.test(operation.route) ? operation.route : undefined)
    const before = api.received.length
    const result = await client
      .callTool({ name: tool.name, arguments: sent })
      .catch((error) => ({ isError: true, content: [{ text: error.message }] }))
    const received = api.received[before]
    const difference = !received
      ? [`nothing was sent: ${result.content?.[0]?.text}`]
      : received.operation?.route !== operation.route
        ? [`reached ${received.method} ${received.target}`]
        : compareArguments(sent, received, tool.inputSchema)
    const outcome =
      result.isError && difference.length === 0
        ? [`result: ${result.content?.[0]?.text}`]
        : difference
    if (outcome.length > 0) wrong.push(`${name}: ${outcome.join('; ').slice(0, 600)}`)
  }
  return { called, wrong }
}

function print(checked, loaded, hiddenTools, { called, wrong }) {
  const diagnostics = Array.isArray(checked.value)
    ? checked.value
    : (checked.value.diagnostics ?? [])
  const counts = Map.groupBy ? Map.groupBy(diagnostics, ({ code }) => code) : groupBy(diagnostics)
  const missing = operations.filter(({ method, route }) => !called.has(`${method} ${route}`))
  const report = {
    file: positionals[0],
    operations: operations.length,
    tools: loaded.value.length,
    hiddenTools,
    calledRightly: called.size - wrong.length,
    notServed: missing.length,
    checkSeconds: checked.seconds,
    secondsUntilList: loaded.seconds,
    listBytes: Buffer.byteLength(JSON.stringify({ tools: loaded.value })),
    diagnostics: Object.fromEntries([...counts].map(([code, list]) => [code, list.length])),
  }
  console.log(values.json ? JSON.stringify(report) : report)
  const limit = Number(values.show)
  for (const line of wrong.slice(0, limit)) console.log(`WRONG ${line}`)
  for (const { method, route } of missing.slice(0, limit))
    console.log(`NOT SERVED ${method} ${route}`)
  for (const { severity, code, message, at, pointer } of diagnostics
    .filter((one) => one.severity === 'error')
    .slice(0, limit))
    console.log(`${severity} ${code} ${at ?? pointer} ${message}`.slice(0, 400))
}

function groupBy(list) {
  const groups = new Map()
  for (const one of list) groups.set(one.code, [...(groups.get(one.code) ?? []), one])
  return groups
}
