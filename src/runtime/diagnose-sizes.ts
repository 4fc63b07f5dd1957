import type { Diagnostic } from '../capability/diagnostic.ts'
import type { ListSize } from './tool-sizes.ts'

/**
 * Limits that clients have. They count the tools of all servers together: a list that reaches a limit alone leaves
 * no room for others.
 */
// biome-ignore format: table
const clientLimits: readonly ClientLimit[] = [
  { client: 'Cursor',      tools: 40 },      // getsentry/sentry-mcp-stdio#3: further tools are not offered to the model
  { client: 'VS Code',     tools: 128 },     // microsoft/vscode#294055: the request fails
  { client: 'Claude Code', tokens: 25_000 }, // anthropics/claude-code#12241: a warning; what the lists take of the context
]

interface ClientLimit {
  readonly client: string
  readonly tools?: number
  readonly tokens?: number
}

/** Lists that are beyond a limit: one warning for their number of tools, one for their size. */
export const diagnoseSizes = (sizes: readonly ListSize[]): Diagnostic[] =>
  sizes.flatMap((size) => [...diagnoseNumber(size), ...diagnoseSize(size)])

function diagnoseNumber({ mount, tools }: ListSize): Diagnostic[] {
  const limits = clientLimits.flatMap(({ client, tools: limit }) =>
    limit !== undefined && tools.length > limit ? [`${client} ${limit}`] : [],
  )
  if (limits.length === 0) return []
  const message = `${mount} lists ${tools.length} tools, more than some clients take (${limits.join(', ')}). ${remedy}`
  return [toWarning('tools_many', mount, message)]
}

const maxListed = 5

function diagnoseSize({ mount, tokens, bytes, tools }: ListSize): Diagnostic[] {
  const limits = clientLimits.flatMap(({ client, tokens: limit }) =>
    limit !== undefined && tokens > limit ? [`${client} ${limit.toLocaleString('en')}`] : [],
  )
  if (limits.length === 0) return []
  const largest = tools
    .slice(0, maxListed)
    .map((tool) => `${tool.name} ${tool.tokens.toLocaleString('en')}`)
  const message = `The list of ${mount} takes about ${tokens.toLocaleString('en')} tokens of a model's context (${bytes.toLocaleString('en')} bytes), more than some clients find acceptable (${limits.join(', ')}). The largest: ${largest.join(', ')}. Shorten descriptions and schemas ("drawbridge list --size" shows them). ${remedy}`
  return [toWarning('tools_large', mount, message)]
}

const remedy =
  'Leave tools out, or give sources mounts of their own (mount: /mcp/NAME), so that a client connects to what it needs.'

const toWarning = (code: string, mount: string, message: string): Diagnostic => ({
  code,
  severity: 'warning',
  message,
  source: 'configuration',
  pointer: `/mounts/${mount.replaceAll('~', '~0').replaceAll('/', '~1')}`,
})
