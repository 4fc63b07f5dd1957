import type { Json, JsonObject } from '../capability/json.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { Fields } from './document.ts'

/** Converts the keywords of an OpenAPI 3.0 schema (`nullable`, `byte`, `binary`). */
export function fromVersion30(schema: Record<string, Json>, { nullable }: Fields): JsonObject {
  const encoding = encodings[String(schema.format)]
  if (schema.type === 'string' && encoding) {
    delete schema.format
    Object.assign(schema, encoding)
  }
  if (nullable !== true) return schema
  const { type, enum: values, ...rest } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  return {
    type: [...new Set([type as Json, 'null'].flat())] as Json,
    ...dropUndefined({ enum: Array.isArray(values) ? withNull(values) : undefined }),
    ...rest,
  }
}

/** Converts `exclusiveMinimum: true` beside `minimum`; documents of 3.1 have it too. */
export function fromBooleanLimits(schema: Record<string, Json>): void {
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue
    const { [flag]: isExclusive, [limit]: bound } = schema
    delete schema[flag]
    if (!isExclusive || bound === undefined) continue
    delete schema[limit]
    schema[flag] = bound
  }
}

const withNull = (values: readonly Json[]): readonly Json[] =>
  values.includes(null) ? values : [...values, null]

const encodings: Readonly<Record<string, JsonObject | undefined>> = {
  byte: { contentEncoding: 'base64' },
  binary: { contentMediaType: 'application/octet-stream' },
}
