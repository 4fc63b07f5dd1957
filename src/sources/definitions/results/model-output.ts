import { type Content, text } from '../../../capability/content.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { isText } from '../dialects/shape.ts'
import { content, type Reply, toolError } from '../reply.ts'

/**
 * What `toModelOutput` of the Vercel AI SDK returned: what the author wants the model to see. `data` is
 * sent beside it for a tool with an output schema.
 */
export function fromModelOutput(output: unknown, data: unknown): Reply {
  if (!isPlainObject(output)) throw new Error('toModelOutput did not return an object.')
  const { type, value } = output
  switch (type) {
    case 'text':
      return content([text(requireText(value, type))], data)
    case 'json':
      return content([text(JSON.stringify(value) ?? '')], data ?? value)
    case 'error-text':
      return toolError(requireText(value, type))
    case 'error-json':
      return toolError(JSON.stringify(value) ?? '')
    case 'execution-denied':
      return toolError(isText(output.reason) ? output.reason : 'The execution was denied.')
    case 'content':
      if (!Array.isArray(value)) throw new Error('toModelOutput returned content without parts.')
      return content(value.map(toBlock), data)
    default:
      throw new Error(`toModelOutput returned the unknown type ${JSON.stringify(type)}.`)
  }
}

function requireText(value: unknown, type: string): string {
  if (typeof value === 'string') return value
  throw new Error(`toModelOutput returned "${type}" with a value that is not a string.`)
}

function toBlock(part: unknown): Content {
  if (!isPlainObject(part)) throw new Error('toModelOutput returned a part that is not an object.')
  const { type, text: value, data, url } = part
  const mimeType = String(part.mediaType ?? part.mimeType ?? 'application/octet-stream')
  switch (type) {
    case 'text':
      return text(requireText(value, type))
    case 'media':
    case 'file-data':
    case 'image-data':
      return toMediaBlock(requireText(data, type), mimeType, part.filename)
    case 'file-url':
    case 'image-url':
      return toLink(requireText(url, type))
    default:
      throw new Error(`Parts of type ${JSON.stringify(type)} cannot be sent to MCP clients.`)
  }
}

/** Base64 data as the kind of block that its media type belongs to. */
export function toMediaBlock(data: string, mimeType: string, name?: unknown): Content {
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  const uri = `file:///${encodeURIComponent(isText(name) ? name : 'result')}`
  return { type: 'resource', resource: { uri, mimeType, blob: data } }
}

/** An address as a link, or the data of a `data:` URL as a block. */
export function toLink(url: string): Content {
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  if (mimeType !== undefined && data !== undefined) return toMediaBlock(data, mimeType)
  return { type: 'resource_link', uri: url, name: url }
}
