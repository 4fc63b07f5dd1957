import { watch as watchFolder } from 'node:fs'
import path from 'node:path'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Drawbridge } from './drawbridge.ts'
import { type OpenOptions, readAll } from './open-drawbridge.ts'

/** Editors write a file in several steps. */
const quiet = 100

/**
 * Reloads when a file beside the configuration changes. What is worse than what is served now is
 * refused: the old one goes on serving, and it is said why.
 */
export function watch(
  what: string,
  bridge: Drawbridge,
  options: OpenOptions,
  say: (text: string) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let busy = Promise.resolve()
  const folder = path.extname(what) === '' ? path.resolve(what) : path.dirname(path.resolve(what))
  const watcher = watchFolder(folder, { recursive: true }, (_, file) => {
    if (file === null || /(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(file)) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      busy = busy.then(() => reload(what, bridge, options, say))
    }, quiet)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

async function reload(
  what: string,
  bridge: Drawbridge,
  options: OpenOptions,
  say: (text: string) => void,
): Promise<void> {
  try {
    const { placed } = await readAll(what, options)
    const known = new Set(bridge.diagnostics.map(toKey))
    const accepted = await bridge.replace(placed, ({ diagnostics }) => {
      const worse = diagnostics.filter((one) => one.severity === 'error' && !known.has(toKey(one)))
      for (const { source, pointer, message } of worse) say(`  ${source}#${pointer} ${message}`)
      return worse.length === 0
    })
    say(accepted ? 'Reloaded.' : refusal)
  } catch (error) {
    say(`${refusal} ${(error as Error).message}`)
  }
}

const refusal = 'Not reloaded, the former version goes on serving.'

const toKey = ({ code, pointer, message }: Diagnostic): string => `${code} ${pointer} ${message}`
