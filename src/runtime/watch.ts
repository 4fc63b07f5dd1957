import { stat } from 'node:fs/promises'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { FoundConfig } from './config/find-config.ts'
import type { Drawbridge } from './drawbridge.ts'
import {
  type LoadedConfig,
  loadConfig,
  type OpenedDrawbridge,
  type OpenOptions,
} from './open-drawbridge.ts'

/** Polls instead of using `fs.watch`, which misses how editors and git replace files. */
const pollIntervalMs = 500

/**
 * Reloads when a loaded file changes, or a new file matches. A version with new errors is rejected: the
 * former one keeps serving, and the errors are printed.
 */
export function watch(
  what: string,
  bridge: Drawbridge,
  opened: OpenedDrawbridge['found'],
  options: OpenOptions,
  print: (text: string) => void,
): () => void {
  let { files, since } = opened
  let last: Fingerprint | undefined
  let timer: NodeJS.Timeout
  let stopped = false
  const poll = async () => {
    const present = await readFingerprint(await files())
    // The first poll after a load has no fingerprint to compare with: look for files written since it began.
    const changed =
      last === undefined
        ? present.isIncomplete || present.newestMs > since
        : present.text !== last.text
    last = present
    if (changed) {
      const read = await reload(what, bridge, opened, options, print)
      if (read) {
        ;({ files, since } = read)
        last = undefined
      }
    }
    if (!stopped) timer = setTimeout(poll, pollIntervalMs)
  }
  void poll()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

interface Fingerprint {
  /** Differs when a file is changed, replaced, added or removed. */
  readonly text: string
  readonly newestMs: number
  readonly isIncomplete: boolean
}

async function readFingerprint(files: readonly string[]): Promise<Fingerprint> {
  const states = await Promise.all(
    files.map(async (file) => ({ file, state: await stat(file).catch(() => undefined) })),
  )
  const lines = states.map(
    ({ file, state }) => `${file} ${state?.mtimeMs} ${state?.size} ${state?.ino}`,
  )
  return {
    text: lines.sort().join('\n'),
    isIncomplete: states.some(({ state }) => !state),
    newestMs: Math.max(
      ...states.map(({ state }) => Math.max(state?.mtimeMs ?? 0, state?.ctimeMs ?? 0)),
    ),
  }
}

async function reload(
  what: string,
  bridge: Drawbridge,
  opened: FoundConfig,
  options: OpenOptions,
  print: (text: string) => void,
): Promise<LoadedConfig | undefined> {
  try {
    const read = await loadConfig(what, options)
    const { placed, found } = read
    const present = new Set(bridge.diagnostics.map(toKey))
    const isAccepted = await bridge.replace(placed, ({ diagnostics }) => {
      const newErrors = diagnostics.filter(
        (one) => one.severity === 'error' && !present.has(toKey(one)),
      )
      for (const { source, pointer, message } of newErrors)
        print(`  ${source}#${pointer} ${message}`)
      return newErrors.length === 0
    })
    const changedParts = partsThatNeedARestart.filter(
      (part) => JSON.stringify(found.config[part]) !== JSON.stringify(opened.config[part]),
    )
    if (changedParts.length > 0)
      print(`Changes of ${changedParts.join(', ')} need a restart to take effect.`)
    print(isAccepted ? 'Reloaded.' : rejection)
    return isAccepted ? read : undefined
  } catch (error) {
    print(`${rejection} ${(error as Error).message}`)
    return undefined
  }
}

const partsThatNeedARestart = ['name', 'version', 'http', 'policy', 'mounts', 'store'] as const

const rejection = 'Not reloaded; the previous version is still served.'

const toKey = ({ code, pointer, message }: Diagnostic): string => `${code} ${pointer} ${message}`
