import type { JsonObject } from '../../capability/json.ts'
import { inlineReferences } from './inline-references.ts'
import { mergeRootUnion } from './merge-root-union.ts'
import { type SchemaProfileName, schemaProfiles } from './profiles.ts'

/** A schema as clients of a profile see it, and what they do not see of it. */
export interface LoweredSchema {
  readonly schema: JsonObject
  /** Sentences without their subject, such as "shows a recursive part only to 3 levels". */
  readonly losses: readonly string[]
}

/** The schema itself when there is nothing to lower: most schemas are flat. */
export function lowerSchema(
  schema: JsonObject,
  direction: 'input' | 'output',
  profileName: SchemaProfileName,
): LoweredSchema {
  const cache = caches[direction][profileName]
  let lowered = cache.get(schema)
  if (!lowered) {
    lowered = lower(schema, direction, profileName)
    cache.set(schema, lowered)
  }
  return lowered
}

type Cache = WeakMap<JsonObject, LoweredSchema>

const toCaches = (): Record<SchemaProfileName, Cache> => ({
  full: new WeakMap(),
  portable: new WeakMap(),
  inline: new WeakMap(),
})

const caches = { input: toCaches(), output: toCaches() }

function lower(
  schema: JsonObject,
  direction: 'input' | 'output',
  profileName: SchemaProfileName,
): LoweredSchema {
  const { references, rootUnions } = schemaProfiles[profileName]
  const inlined =
    references === 'keep' ? { schema, losses: [] } : inlineReferences(schema, references)
  if (rootUnions === 'keep' || direction === 'output') return inlined
  const merged = mergeRootUnion(inlined.schema)
  return { schema: merged.schema, losses: [...inlined.losses, ...merged.losses] }
}
