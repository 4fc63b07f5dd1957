import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Fields } from '../document.ts'
import type { MovedParts, SwaggerForm } from './separate-bodies.ts'

const urlEncoded = 'application/x-www-form-urlencoded'
const multipart = 'multipart/form-data'

/** Adds the forms of a Swagger 2.0 document to its operations as request bodies. */
export function addForms(
  converted: Fields,
  forms: readonly SwaggerForm[],
  moved: MovedParts,
): void {
  for (const form of forms) {
    const { route, method, fields } = form
    const operation = dig(converted, ['paths', route, method])
    if (!operation) continue
    const path = ['paths', route, method, 'requestBody']
    const [first] = fields
    if (first) moved.add(path, first.path)
    const types = toMediaTypes(form)
    for (const type of types)
      for (const { value, path: written } of fields)
        moved.add([...path, 'content', type, 'schema', 'properties', String(value.name)], written)
    const content = toContent(fields.map(({ value }) => value))
    operation.requestBody = {
      required: fields.some(({ value }) => value.required === true),
      content: Object.fromEntries(types.map((type) => [type, content])),
    }
  }
}

function toMediaTypes({ consumes, fields }: SwaggerForm): readonly string[] {
  const declared = [multipart, urlEncoded].filter((type) => consumes.includes(type))
  if (declared.length > 0) return declared
  return fields.some(({ value }) => value.type === 'file') ? [multipart] : [urlEncoded]
}

function toContent(fields: readonly Fields[]): Fields {
  const names = fields.flatMap(({ name, required }) => (required === true ? [name] : []))
  const lists = fields.filter(({ type }) => type === 'array')
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(fields.map((field) => [field.name, toSchema(field)])),
      ...(names.length > 0 && { required: names }),
    },
    encoding: Object.fromEntries(lists.map((list) => [list.name, toEncoding(list)])),
  }
}

/** What is not part of the schema. */
const fieldKeywords = new Set(['name', 'in', 'required', 'collectionFormat', 'allowEmptyValue'])

const toSchema = (field: Fields): Fields => ({
  ...Object.fromEntries(Object.entries(field).filter(([key]) => !fieldKeywords.has(key))),
  ...(field.type === 'file' && { type: 'string', format: 'binary' }),
})

function toEncoding({ collectionFormat: format }: Fields): Fields {
  if (format === 'multi') return { style: 'form', explode: true }
  if (format === 'ssv') return { style: 'spaceDelimited', explode: false }
  if (format === 'pipes') return { style: 'pipeDelimited', explode: false }
  return { style: 'form', explode: false }
}

function dig(value: Fields, keys: readonly string[]): Record<string, unknown> | undefined {
  let at: unknown = value
  for (const key of keys) {
    if (!isPlainObject(at) || !Object.hasOwn(at, key)) return undefined
    at = at[key]
  }
  return isPlainObject(at) ? (at as Record<string, unknown>) : undefined
}
