import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { annotationKeywords } from '../../json/schema/keywords.ts'
import { mapChildren } from '../../json/schema/map-schema.ts'
import { type References, referencesOf } from '../../json/schema/references.ts'
import {
  listChildren,
  pointerOf,
  type SchemaNode,
  toRootNode,
  walkSchema,
} from '../../json/schema/walk-schema.ts'
import { convertKeywords } from './convert-keywords.ts'
import type { Draft } from './read-draft.ts'

export interface ModernSchema {
  /** The argument itself if nothing had to change. */
  readonly schema: JsonObject
  /** What was left out or has another meaning now, with its JSON pointer. */
  readonly remarks: readonly string[]
}

/**
 * A schema of any draft, or with keywords of OpenAPI 3.0, as JSON Schema 2020-12 with the same meaning.
 * `text` is the schema as JSON.
 */
export function modernizeSchema(original: JsonObject, draft: Draft, text: string): ModernSchema {
  if (draft === '2020-12' && !mayNeedChange.test(text)) return { schema: original, remarks: [] }
  const remarks: string[] = []
  const root = draft === 'up-to-07' ? withModernIds(original) : original
  const before = referencesOf(root)
  const converted = new Map<JsonObject, JsonObject>()
  const convert = (node: SchemaNode): JsonObject => {
    const remark = (keyword: string, text: string) =>
      remarks.push(`${pointerOf(node)}/${keyword} ${text}`)
    const counted = draft === 'up-to-07' ? withoutReferenceSiblings(node, remark) : node.schema
    const children = new Map(
      listChildren({ ...node, schema: counted }).map((child) => [child.schema, convert(child)]),
    )
    const convertChild = (value: Json | undefined): Json | undefined =>
      isPlainObject(value) ? (children.get(value as JsonObject) ?? (value as JsonObject)) : value
    const result = convertKeywords(counted, {
      convertChild,
      remark,
      draft,
      isRoot: node.path.length === 0,
    })
    converted.set(node.schema, result)
    return result
  }
  const schema = convert(toRootNode(root))
  return { schema: withMovedReferences(schema, before, converted), remarks }
}

/** Keywords and values that never occur in a schema which is served as it is. */
const mayNeedChange =
  /"(?:definitions|nullable|\$recursive(?:Ref|Anchor))":|"format":"(?:binary|byte)"/

/** `id` was renamed in draft-06; a fragment alone is an anchor since 2019-09. */
function withModernIds(root: JsonObject): JsonObject {
  const rename = (node: SchemaNode): JsonObject => {
    const { schema } = node
    const id = schema.$id ?? schema.id
    if (typeof id !== 'string' || !/^#|[:/.]/.test(id)) return mapChildren(node, rename)
    const { id: _, $id: __, ...rest } = mapChildren(node, rename)
    return id.startsWith('#')
      ? id === '#'
        ? rest
        : { $anchor: id.slice(1), ...rest }
      : { $id: id, ...rest }
  }
  return rename(toRootNode(root))
}

function withoutReferenceSiblings(
  { schema }: SchemaNode,
  remark: (keyword: string, text: string) => void,
): JsonObject {
  if (typeof schema.$ref !== 'string') return schema
  const kept = Object.entries(schema).filter(([keyword]) => {
    const isKept = keptBesideReference.has(keyword) || annotationKeywords.has(keyword)
    if (!isKept) remark(keyword, 'is left out: up to draft-07, keywords beside $ref do not count')
    return isKept
  })
  return Object.fromEntries(kept)
}

const keptBesideReference = new Set(['$ref', '$schema', 'definitions', '$defs'])

/** References follow the schemas that moved, such as those of `definitions`. */
function withMovedReferences(
  schema: JsonObject,
  before: References,
  converted: ReadonlyMap<JsonObject, JsonObject>,
): JsonObject {
  const pointers = new Map(
    [...walkSchema(toRootNode(schema))].map((node) => [node.schema, pointerOf(node)]),
  )
  const resources = listResourcePointers(schema)
  for (const { node, text, target } of before.all) {
    const holder = converted.get(node.schema)
    const moved = isPlainObject(target) ? converted.get(target as JsonObject) : undefined
    const pointer = moved && pointers.get(moved)
    if (!holder || pointer === undefined || !text.includes('#/')) continue
    const place = findReferenceHolder(holder)
    const base = moved && findResourcePointer(resources, pointer)
    if (place)
      Object.assign(place, {
        $ref: `${text.split('#')[0]}#${encodePointer(pointer.slice((base ?? '').length))}`,
      })
  }
  return schema
}

/** A nullable reference was wrapped. */
function findReferenceHolder(schema: JsonObject): JsonObject | undefined {
  if (typeof schema.$ref === 'string') return schema
  const [first] = Array.isArray(schema.anyOf) ? schema.anyOf : []
  return isPlainObject(first) && typeof first.$ref === 'string' ? (first as JsonObject) : undefined
}

/** The pointers of the schemas inside that have an `$id`. */
const listResourcePointers = (root: JsonObject): ReadonlySet<string> =>
  new Set(
    [...walkSchema(toRootNode(root))]
      .filter(({ schema, path }) => path.length > 0 && typeof schema.$id === 'string')
      .map(pointerOf),
  )

/** The pointer of the nearest schema above with an `$id`: pointers in references start there. */
function findResourcePointer(resources: ReadonlySet<string>, pointer: string): string {
  let place = pointer
  while (place !== '' && !resources.has(place)) place = place.slice(0, place.lastIndexOf('/'))
  return place
}

/** A pointer as a URI fragment. */
const encodePointer = (pointer: string): string =>
  pointer.split('/').map(encodeURIComponent).join('/').replaceAll('%24', '$')
