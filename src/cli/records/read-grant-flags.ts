import { dropUndefined } from '../../json/drop-undefined.ts'
import type { RequestedTerms } from '../../sources/records/grants/issue-tokens.ts'
import { UsageError } from '../terminal/usage-error.ts'

const streamFlags = ['fields', 'view', 'connection', 'since', 'until', 'resources'] as const

/** Flags apply to the `--stream` before them; flags before the first `--stream` apply to all. */
export function toTerms(words: readonly string[]): readonly RequestedTerms[] {
  const common: Record<string, string> = {}
  const streams: Record<string, string>[] = []
  for (let index = 0; index < words.length; index++) {
    const [flag = '', inlineValue] = (words[index] ?? '').split(/=(.*)/s)
    const name = flag.replace(/^--/, '')
    if (name !== 'stream' && !streamFlags.some((one) => one === name)) continue
    const value = inlineValue ?? words[++index] ?? ''
    if (name === 'stream') streams.push({ stream: value })
    else (streams.at(-1) ?? common)[name] = value
  }
  if (streams.length === 0)
    throw new UsageError('Name at least one stream that may be read: --stream NAME')
  return streams.map((one) => {
    const { stream = '', fields, resources, ...rest } = { ...common, ...one }
    return {
      stream,
      ...rest,
      ...dropUndefined({
        fields: fields === undefined ? undefined : toList('--fields', fields),
        resources: resources === undefined ? undefined : toList('--resources', resources),
      }),
    }
  })
}

function toList(flag: string, text: string): string[] {
  const list = text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
  if (list.length === 0) throw new UsageError(`${flag} needs at least one name.`)
  return list
}

const grantFlags = ['client', 'stream', ...streamFlags, 'single', 'reads']

/** An owner token has no terms, so flags that set terms are a mistake. */
export function refuseTerms(args: Readonly<Record<string, unknown>>): void {
  const conflicts = grantFlags.filter((name) => args[name] !== undefined && args[name] !== false)
  if (conflicts.length > 0)
    throw new UsageError(
      `--owner cannot be combined with ${conflicts.map((name) => `--${name}`).join(', ')}: an owner token writes records, and cannot read.`,
    )
}
