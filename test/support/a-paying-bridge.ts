import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { createDrawbridge, defineTool, definitionSource, z } from '../../src/index.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'
import { aProject } from './a-project.ts'
import { repository } from './spawn-server.ts'
import { startProcess } from './start-process.ts'

/** A folder with a configuration whose store is `ledger.db`. */
export async function aStoreFolder(): Promise<{ folder: string; file: string }> {
  const folder = await aProject({ 'drawbridge.yaml': 'store: ./ledger.db\n' })
  return { folder, file: path.join(folder, 'ledger.db') }
}

/** A server with the tool `pay`, and the keys for which it has really run. */
export function aPayingBridge(store: string, options: Partial<DrawbridgeOptions> = {}) {
  const executed: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    category: 'write',
    schema: z.object({ order: z.string() }),
    execute: ({ order }) => {
      executed.push(order)
      return { paid: order }
    },
  })
  const bridge = createDrawbridge({ ...options, store, sources: [definitionSource([pay])] })
  let isOpen = true
  const close = async () => {
    if (isOpen) await bridge.close()
    isOpen = false
  }
  onTestFinished(close)
  return {
    bridge,
    executed,
    pay: (key: string) => bridge.call('pay', { order: key }, { idempotencyKey: key }),
    close,
  }
}

/**
 * Pays for each key in a process of its own: libsql keeps the lock of a closed file until its statements are
 * collected, and a store that is locked can be neither restored nor repaired.
 */
export async function payInto(store: string, keys: readonly string[]): Promise<void> {
  const library = pathToFileURL(`${repository}/dist/index.js`)
  const program = `
    import { createDrawbridge, definitionSource, defineTool, z } from ${JSON.stringify(library.href)}
    const [store, ...keys] = process.argv.slice(1)
    const schema = z.object({ order: z.string() })
    const execute = ({ order }) => ({ paid: order })
    const pay = defineTool({ name: 'pay', description: 'Pays.', category: 'write', schema, execute })
    const bridge = createDrawbridge({ store, sources: [definitionSource([pay])] })
    const call = (key) => bridge.call('pay', { order: key }, { idempotencyKey: key })
    for (const key of keys) await call(key)
    await bridge.close()
  `
  const args = ['--no-warnings', '--input-type=module', '-e', program, store, ...keys]
  const { exited, stderr } = startProcess(args, { cwd: repository })
  if ((await exited) !== 0) throw new Error(stderr())
}
