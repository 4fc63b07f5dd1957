import { stat } from 'node:fs/promises'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Snapshot } from '../catalog/snapshot.ts'
import type { PolicyOptions } from './config/config-options.ts'
import type { Configuration } from './config/find-config.ts'
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
  opened: OpenedDrawbridge['configuration'],
  options: OpenOptions,
  print: (text: string) => void,
): () => void {
  let { files, since } = opened
  let previous: Fingerprint | undefined
  let timer: NodeJS.Timeout
  let stopped = false
  const poll = async () => {
    const current = await readFingerprint(await files())
    // The first poll after a load has no fingerprint to compare with: look for files written since it began.
    const changed =
      previous === undefined
        ? current.isIncomplete || current.newestMs > since
        : current.text !== previous.text
    previous = current
    if (changed) {
      const reloaded = await reload(what, bridge, opened, options, print)
      if (reloaded) {
        ;({ files, since } = reloaded)
        previous = undefined
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
  opened: Configuration,
  options: OpenOptions,
  print: (text: string) => void,
): Promise<LoadedConfig | undefined> {
  try {
    const strayCount = options.strayErrors?.count
    const loaded = await loadConfig(what, options)
    const { sources, configuration } = loaded
    const currentKeys = new Set(bridge.diagnostics.map(toKey))
    const describe = (thrown: unknown) => bridge.describe(thrown)
    const accepts = ({ diagnostics }: Snapshot) => {
      const strayErrors = options.strayErrors?.toDiagnostics(describe, strayCount) ?? []
      const newErrors = [...diagnostics, ...strayErrors].filter(
        (one) => one.severity === 'error' && !currentKeys.has(toKey(one)),
      )
      for (const { source, pointer, message } of newErrors)
        print(`  ${source}#${pointer} ${message}`)
      return newErrors.length === 0
    }
    const policy = configuration.config.policy as PolicyOptions
    const isAccepted = await bridge.replace(sources, accepts, policy)
    const changedParts = partsThatNeedARestart.filter(
      (part) => JSON.stringify(configuration.config[part]) !== JSON.stringify(opened.config[part]),
    )
    if (changedParts.length > 0)
      print(`Changes of ${changedParts.join(', ')} need a restart to take effect.`)
    print(isAccepted ? 'Reloaded.' : rejection)
    return isAccepted ? loaded : undefined
  } catch (error) {
    print(`${rejection} ${(error as Error).message}`)
    return undefined
  }
}

const partsThatNeedARestart = ['name', 'version', 'http', 'audit', 'mounts', 'store'] as const

const rejection = 'Not reloaded; the previous version is still served.'

const toKey = ({ code, pointer, message }: Diagnostic): string => `${code} ${pointer} ${message}`
