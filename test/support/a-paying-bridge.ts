import { copyFileSync, existsSync } from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { createDrawbridge, defineTool, definitionSource, z } from '../../src/index.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'
import { aProject } from './a-project.ts'

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
 * Pays for each key in a copy of a ledger, and puts it in place. libsql keeps the lock of a closed file until
 * its statements are collected, and a store that is locked can be neither restored nor repaired.
 */
export async function payInto(store: string, keys: readonly string[]): Promise<void> {
  const copy = `${store}.paying`
  copyLedger(store, copy)
  const { pay, close } = aPayingBridge(copy)
  for (const key of keys) await pay(key)
  await close()
  copyLedger(copy, store)
}

/** Copies a closed ledger with its key and its witness. */
export function copyLedger(from: string, to: string): void {
  for (const suffix of ['', '.key', '.witness'])
    if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix)
}
