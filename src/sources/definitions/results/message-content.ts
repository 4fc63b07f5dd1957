import { type Content, text } from '../../../capability/content.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { isText } from '../dialects/shape.ts'
import { toLink, toMediaBlock } from './model-output.ts'

/**
 * Content of a message for a model, as LangChain's `ToolMessage` and tools of the Anthropic SDK return
 * it: a string, or blocks in the formats of these two and of OpenAI.
 */
export function fromMessageContent(content: unknown): readonly Content[] {
  if (typeof content === 'string') return [text(content)]
  if (Array.isArray(content)) return content.map(toBlock)
  return [text(JSON.stringify(content) ?? '')]
}

function toBlock(block: unknown): Content {
  if (typeof block === 'string') return text(block)
  if (!isPlainObject(block)) throw new Error('The content has a block that is not an object.')
  if (block.type === 'text' && typeof block.text === 'string') return text(block.text)
  // Anthropic: { source: { type: 'base64', media_type, data } | { type: 'url', url } }
  const { source, image_url } = block
  if (isPlainObject(source)) return toMedia(source)
  // OpenAI: { image_url: 'https://…' } or { image_url: { url } }
  const url = isPlainObject(image_url) ? image_url.url : image_url
  if (isText(url)) return toLink(url)
  return toMedia(block)
}

function toMedia(media: Readonly<Record<string, unknown>>): Content {
  const mimeType = media.media_type ?? media.mime_type ?? media.mimeType ?? media.mediaType
  if (isText(media.data) && isText(mimeType)) return toMediaBlock(media.data, mimeType)
  if (isText(media.url)) return toLink(media.url)
  throw new Error(`A block of type ${JSON.stringify(media.type)} cannot be sent to MCP clients.`)
}
