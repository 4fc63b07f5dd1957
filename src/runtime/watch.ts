import { stat } from 'node:fs/promises'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Found } from './config/find-config.ts'
import type { Drawbridge } from './drawbridge.ts'
import { type OpenedDrawbridge, type OpenOptions, type Read, readAll } from './open-drawbridge.ts'

/** Looked at twice a second: notifications of file systems miss what editors and git do to files. */
const interval = 500

/**
 * Reloads when a file that was loaded changes, wherever it lies, or one appears that belongs to it.
 * What is worse than what is served now is refused: the old one goes on serving, and it is said why.
 */
export function watch(
  what: string,
  bridge: Drawbridge,
  opened: OpenedDrawbridge['found'],
  options: OpenOptions,
  say: (text: string) => void,
): () => void {
  let { files, since } = opened
  let known: Stamp | undefined
  let timer: NodeJS.Timeout
  let stopped = false
  const look = async () => {
    const now = await toStamp(await files())
    // The first look comes after the load: what was written since it began was not read.
    const changed =
      known === undefined ? now.isIncomplete || now.newest > since : now.text !== known.text
    known = now
    if (changed) {
      const read = await reload(what, bridge, opened, options, say)
      if (read) {
        ;({ files, since } = read)
        known = undefined
      }
    }
    if (!stopped) timer = setTimeout(look, interval)
  }
  void look()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

interface Stamp {
  /** Changes when a file changes, is replaced, appears or goes. */
  readonly text: string
  readonly newest: number
  readonly isIncomplete: boolean
}

async function toStamp(files: readonly string[]): Promise<Stamp> {
  const states = await Promise.all(
    files.map(async (file) => ({ file, state: await stat(file).catch(() => undefined) })),
  )
  const lines = states.map(
    ({ file, state }) => `${file} ${state?.mtimeMs} ${state?.size} ${state?.ino}`,
  )
  return {
    text: lines.sort().join('\n'),
    isIncomplete: states.some(({ state }) => !state),
    newest: Math.max(
      ...states.map(({ state }) => Math.max(state?.mtimeMs ?? 0, state?.ctimeMs ?? 0)),
    ),
  }
}

async function reload(
  what: string,
  bridge: Drawbridge,
  opened: Found,
  options: OpenOptions,
  say: (text: string) => void,
): Promise<Read | undefined> {
  try {
    const read = await readAll(what, options)
    const { placed, found } = read
    const known = new Set(bridge.diagnostics.map(toKey))
    const accepted = await bridge.replace(placed, ({ diagnostics }) => {
      const worse = diagnostics.filter((one) => one.severity === 'error' && !known.has(toKey(one)))
      for (const { source, pointer, message } of worse) say(`  ${source}#${pointer} ${message}`)
      return worse.length === 0
    })
    const stale = partsThatNeedARestart.filter(
      (part) => JSON.stringify(found.config[part]) !== JSON.stringify(opened.config[part]),
    )
    if (stale.length > 0) say(`A change of ${stale.join(', ')} needs a restart to take effect.`)
    say(accepted ? 'Reloaded.' : refusal)
    return accepted ? read : undefined
  } catch (error) {
    say(`${refusal} ${(error as Error).message}`)
    return undefined
  }
}

const partsThatNeedARestart = ['name', 'version', 'http', 'policy', 'mounts', 'store'] as const

const refusal = 'Not reloaded, the former version goes on serving.'

const toKey = ({ code, pointer, message }: Diagnostic): string => `${code} ${pointer} ${message}`
