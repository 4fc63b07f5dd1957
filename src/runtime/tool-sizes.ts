import { Buffer } from 'node:buffer'
import { byCodeUnit } from '../json/by-code-unit.ts'
import type { Drawbridge, ToolList } from './drawbridge.ts'

/** The size of one tool in `tools/list`, in bytes of UTF-8. */
export interface ToolSize {
  readonly name: string
  readonly bytes: number
  /** Estimate of what a model reads, see `toTokens`. */
  readonly tokens: number
  readonly parts: Readonly<Record<Part | 'other', number>>
}

/** The size of the list of one mount. */
export interface ListSize {
  readonly mount: string
  /** The whole result of `tools/list`. */
  readonly bytes: number
  readonly tokens: number
  /** The largest first. */
  readonly tools: readonly ToolSize[]
}

export const parts = ['description', 'inputSchema', 'outputSchema', '_meta'] as const
type Part = (typeof parts)[number]

/** The lists of all mounts, or of one, as a caller with all scopes gets them. */
export async function measureLists(bridge: Drawbridge, mount?: string): Promise<ListSize[]> {
  const paths = [...bridge.mounts.keys()].filter((path) => (mount ?? path) === path)
  return Promise.all(
    paths.map(async (path) => measureList(path, await bridge.list({ mount: path }))),
  )
}

/** Measures the JSON as it is sent. */
function measureList(mount: string, list: ToolList): ListSize {
  const tools = list.tools.map(measureTool).sort(byTokens)
  const tokens = tools.reduce((sum, one) => sum + one.tokens, 0)
  return { mount, bytes: toBytes(list), tokens, tools }
}

const byTokens = (a: ToolSize, b: ToolSize): number =>
  b.tokens - a.tokens || b.bytes - a.bytes || byCodeUnit(a.name, b.name)

function measureTool(tool: ToolList['tools'][number]): ToolSize {
  const bytes = toBytes(tool)
  const [description, inputSchema, outputSchema, _meta] = parts.map((part) => toBytes(tool[part]))
  const sizes = {
    description: description ?? 0,
    inputSchema: inputSchema ?? 0,
    outputSchema: outputSchema ?? 0,
    _meta: _meta ?? 0,
  }
  const other = bytes - Object.values(sizes).reduce((sum, size) => sum + size, 0)
  return {
    name: tool.name,
    bytes,
    tokens: toTokens(bytes - sizes._meta),
    parts: { ...sizes, other },
  }
}

/** Four bytes of JSON are about one token of English; clients do not show `_meta` to models. */
const toTokens = (bytesWithoutMeta: number): number => Math.ceil(bytesWithoutMeta / 4)

const toBytes = (value: unknown): number =>
  value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
