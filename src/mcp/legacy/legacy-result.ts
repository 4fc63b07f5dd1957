import type { CallToolResult, Result, Tool } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../capability/json.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type Era, toCachedResponse, toResponse } from '../engine.ts'
import type { Surface } from '../surface.ts'
import { toMembers } from '../to-result.ts'
import { loosenOutputSchema } from './loosen-output-schema.ts'
import { withObjectProperties } from './object-properties.ts'
import { wrapOutputSchema } from './wrap-output-schema.ts'

/** A result in the form of 2025: without caching hints, and with structured content only as an object. */
export const toLegacyBody: Era<never>['toBody'] = (surface, { id, method, params }, result) => {
  if (Object.isFrozen(result)) return toCachedResponse(id, toCachedBytes(result))
  const legacyResult =
    method === 'tools/call'
      ? toLegacyCallResult(surface, String(params.name), result as CallToolResult)
      : withoutCaching(result)
  return toResponse(id, `{${toMembers(legacyResult).slice(1)}}`)
}

function toLegacyCallResult(surface: Surface, name: string, result: CallToolResult): Result {
  const { structuredContent: data, content } = result
  if (data === undefined) return result
  const schema = surface.projection.findTool(name)?.tool.outputSchema
  const isWrapped = !isPlainObject(data) || (schema !== undefined && schema.type !== 'object')
  if (!isWrapped) return result
  const hasText = content.some(({ type }) => type === 'text')
  const text = { type: 'text' as const, text: JSON.stringify(data) }
  return {
    ...result,
    content: hasText || isPlainObject(data) ? content : [...content, text],
    structuredContent: { result: data },
  }
}

function withoutCaching(result: Result): Result {
  if (!('ttlMs' in result)) return result
  const { ttlMs, cacheScope, ...rest } = result
  return rest
}

/** Lists are frozen and stay the same object until something changes, so their JSON is cached by object. */
const cachedBytes = new WeakMap<object, Uint8Array>()

function toCachedBytes(list: Result): Uint8Array {
  let bytes = cachedBytes.get(list)
  if (!bytes) {
    const { tools, ...rest } = withoutCaching(list)
    const legacyList = Array.isArray(tools) ? { tools: tools.map(toLegacyTool), ...rest } : rest
    bytes = Buffer.from(JSON.stringify(legacyList))
    cachedBytes.set(list, bytes)
  }
  return bytes
}

function toLegacyTool({ inputSchema, outputSchema, ...tool }: Tool): Tool {
  return dropUndefined({
    ...tool,
    inputSchema: withObjectProperties(inputSchema as JsonObject) as Tool['inputSchema'],
    outputSchema: outputSchema && toLegacyOutput(outputSchema as JsonObject),
  })
}

function toLegacyOutput(outputSchema: JsonObject): Tool['outputSchema'] {
  const schema = loosenOutputSchema(outputSchema)
  const shown = schema.type === 'object' ? withObjectProperties(schema) : wrapOutputSchema(schema)
  return shown as Tool['outputSchema']
}
