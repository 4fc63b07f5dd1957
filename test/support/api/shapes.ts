import { type ApiDocument, isFields, type Located } from './api-document.ts'

/** How a value looks when it is not JSON: one text, a list, or names with values. */
export type Shape = 'scalar' | 'array' | 'object'

/** By name; undefined if a schema says nothing about its properties. */
export type PropertyShapes = ReadonlyMap<string, Located> | undefined

export interface Shapes {
  /** Several if the schema allows several, all of them if it says nothing. */
  readonly shapes: ReadonlySet<Shape>
  readonly properties: PropertyShapes
  /** The schema of items. */
  readonly items: Located | undefined
}

export function listShapes(document: ApiDocument, schema: Located, depth = 0): Shapes {
  const { value, file } = document.resolve(schema)
  const all = new Set<Shape>(['scalar', 'array', 'object'])
  if (!isFields(value) || depth > 8) return { shapes: all, properties: undefined, items: undefined }
  let shapes = new Set<Shape>()
  const properties = new Map<string, Located>()
  let items: Located | undefined
  const types = value.type === undefined ? [] : [value.type].flat()
  for (const type of types)
    if (type !== 'null') shapes.add(type === 'array' || type === 'object' ? type : 'scalar')
  if (types.length === 0 && Array.isArray(value.enum))
    for (const one of value.enum) shapes.add(Array.isArray(one) ? 'array' : 'scalar')
  if (types.length === 0 && value.properties !== undefined) shapes.add('object')
  for (const name of document.keys({ value: value.properties, file }))
    properties.set(name, document.get({ value: value.properties, file }, name))
  if (value.items !== undefined) items = { value: value.items, file }
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    const parts = document.list({ value, file }, keyword)
    const found = parts.map((part) => listShapes(document, part, depth + 1))
    for (const part of found) {
      for (const [name, property] of part.properties ?? []) properties.set(name, property)
      items ??= part.items
    }
    if (types.length > 0 || found.length === 0) continue
    // Parts of `allOf` that say nothing do not widen the others.
    const telling = found.filter((part) => keyword !== 'allOf' || part.shapes.size < 3)
    for (const part of telling) shapes = new Set([...shapes, ...part.shapes])
  }
  return {
    shapes: shapes.size === 0 ? all : shapes,
    properties: properties.size > 0 ? properties : undefined,
    items,
  }
}
