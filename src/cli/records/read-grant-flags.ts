import type { WantedTerms } from '../../runtime/records/owner-store.ts'
import { UsageError } from '../terminal/usage-error.ts'

const perStream = ['fields', 'view', 'connection', 'since', 'until', 'resources'] as const

/** Options belong to the stream before them; those before the first belong to all. */
export function toTerms(words: readonly string[]): readonly WantedTerms[] {
  const common: Record<string, string> = {}
  const streams: Record<string, string>[] = []
  for (let at = 0; at < words.length; at++) {
    const [flag = '', given] = (words[at] ?? '').split(/=(.*)/s)
    const name = flag.replace(/^--/, '')
    if (name !== 'stream' && !perStream.some((one) => one === name)) continue
    const value = given ?? words[++at] ?? ''
    if (name === 'stream') streams.push({ stream: value })
    else (streams.at(-1) ?? common)[name] = value
  }
  if (streams.length === 0) throw new UsageError('Say what may be read: --stream NAME')
  return streams.map((one) => {
    const { stream = '', fields, resources, ...rest } = { ...common, ...one }
    return {
      stream,
      ...rest,
      ...(fields !== undefined && { fields: toList('--fields', fields) }),
      ...(resources !== undefined && { resources: toList('--resources', resources) }),
    }
  })
}

function toList(flag: string, text: string): string[] {
  const list = text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
  if (list.length === 0) throw new UsageError(`${flag} names nothing.`)
  return list
}

const ofGrants = ['client', 'stream', ...perStream, 'single', 'reads']

/** An owner's token has no terms: whoever says some means something else. */
export function refuseTerms(args: Readonly<Record<string, unknown>>): void {
  const said = ofGrants.filter((name) => args[name] !== undefined && args[name] !== false)
  if (said.length > 0)
    throw new UsageError(
      `--owner goes without ${said.map((name) => `--${name}`).join(', ')}: an owner's token puts records in, and reads none.`,
    )
}
