import type { Content } from '../../../capability/content.ts'
import type { FailureOptions } from '../../../capability/failure.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { content, data, type Reply, toolError } from '../reply.ts'

/** The result of an MCP tool. The pipeline validates the blocks of `content`. */
interface McpResult {
  readonly content: readonly Content[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

const resultKeys = new Set(['content', 'structuredContent', 'isError', '_meta', 'resultType'])
const blockTypes = new Set(['text', 'image', 'audio', 'resource', 'resource_link'])

/**
 * Whether a result has the shape of an MCP result and can be nothing else: no other fields, and all
 * blocks of MCP's types. An empty list of blocks is data.
 */
export const isMcpResult = (value: unknown): value is McpResult =>
  isPlainObject(value) &&
  Array.isArray(value.content) &&
  value.content.length > 0 &&
  value.content.every((block) => isPlainObject(block) && blockTypes.has(String(block.type))) &&
  Object.keys(value).every((key) => resultKeys.has(key))

/** The result of a function that must return MCP results. Throws if it is none: that is a bug. */
export function fromMcpResult(value: unknown): Reply {
  if (!isPlainObject(value)) throw new Error('The handler did not return an MCP result.')
  if (value.resultType === 'input_required')
    throw new Error('The handler returned input_required, which is not available here.')
  const { content: blocks = [], structuredContent } = value
  if (!Array.isArray(blocks)) throw new Error('The handler returned a result without content.')
  if (value.content === undefined && structuredContent === undefined && value.isError !== true)
    throw new Error('The handler did not return an MCP result: it has no content.')
  return toReply({ ...value, content: blocks })
}

export function toReply({ content: blocks, structuredContent, isError }: McpResult): Reply {
  if (isError === true)
    return toolError(toErrorText(blocks), toBlocks(blocks), toDetails(structuredContent))
  // Structured content alone is rendered as text by the pipeline: clients that show only text see it too.
  if (blocks.length > 0) return content(blocks, structuredContent)
  return structuredContent === undefined ? content([]) : data(structuredContent)
}

const toBlocks = (blocks: readonly Content[]): readonly Content[] | undefined =>
  blocks.length > 0 ? blocks : undefined

function toErrorText(blocks: readonly Content[]): string {
  const texts = blocks.flatMap((block) =>
    block?.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
  return texts.length > 0 ? texts.join('\n') : 'The tool failed and gave no reason.'
}

/** The structured part of an error, which results have no other place for. */
const toDetails = (structured: unknown): FailureOptions['details'] =>
  isPlainObject(structured) ? (structured as FailureOptions['details']) : undefined
