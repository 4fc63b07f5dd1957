import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { isFieldValue } from '../../upstream/http/field-value.ts'
import { type DocumentPath, type Fields, type OpenApiDocument, resolve } from '../document.ts'
import { Findings } from '../findings.ts'
import type { DeclaredOperation } from '../list-operations.ts'
import { type SchemaTranslator, SchemaUse } from '../schemas.ts'
import { fileSchema, isFileSchema, toFileSchema, withoutNull } from './files.ts'
import { isJsonMedia, isTextMedia, toMediaType } from './media-types.ts'
import { describe, type Style, styles, toArgument } from './parameters.ts'

/** The request body of an operation. */
export interface Body {
  readonly argument: string
  readonly isRequired: boolean
  /** The declared media type; a range such as `image/*` is completed by the argument. */
  readonly mediaType: string
  readonly kind: BodyKind
  readonly schema: Json
  /** How the fields of a form are written, where the document says so. */
  readonly encodings: Readonly<Record<string, FieldEncoding>>
  /** Fields of a multipart form that are files. */
  readonly files: FileFields
}

/** Fields of a form that are files, or lists of files. */
export type FileFields = ReadonlyMap<string, FileField>

interface FileField {
  readonly isList: boolean
  readonly isNullable: boolean
}

export const bodyKinds = ['json', 'form', 'multipart', 'text', 'file'] as const
export type BodyKind = (typeof bodyKinds)[number]

export interface FieldEncoding {
  readonly contentType?: string
  readonly style?: Style
  readonly explode?: boolean
}

/** The body of an operation, in the media type that is the easiest to write. */
export function readBody(
  document: OpenApiDocument,
  operation: DeclaredOperation,
  usedArguments: ReadonlySet<string>,
  translator: SchemaTranslator,
  use: SchemaUse,
): Body | undefined {
  const { findings } = use
  const path = [...operation.path, 'requestBody']
  const node = resolve(document, operation.value.requestBody, path, findings)
  if (!node) return undefined
  const content = resolve(document, node.value.content, [...node.path, 'content'], findings)
  const mediaType = content && pickMediaType(document, content.value)
  if (!content || mediaType === undefined) {
    if (node.value.required === true)
      findings.fault(node.path, 'The request body is required, and has no valid media type.')
    else findings.remark(node.path, 'The request body has no media type, and is not sent.')
    return undefined
  }
  const others = Object.keys(content.value).filter((type) => type !== mediaType)
  if (others.length > 0)
    findings.note(
      content.path,
      `The body is sent as ${mediaType}; ${others.join(', ')} ${others.length === 1 ? 'is' : 'are'} not offered.`,
    )
  const mediaPath = [...content.path, mediaType]
  const media = resolve(document, content.value[mediaType], mediaPath, findings)
  if (!media) return undefined
  const kind = toKind(mediaType)
  const schemaPath = [...media.path, 'schema']
  const files = kind === 'multipart' ? findFiles(document, media.value.schema) : noFiles
  const bodyUse = new SchemaUse()
  const schema = toBodySchema(
    kind,
    mediaType,
    media.value.schema,
    schemaPath,
    translator,
    bodyUse,
    files,
  )
  use.add(bodyUse)
  return {
    argument: usedArguments.has('body')
      ? toArgument('request_body', 'body', usedArguments)
      : 'body',
    isRequired: node.value.required === true,
    mediaType,
    kind,
    schema: describe(schema, node.value),
    encodings: readEncodings(document, kind, media.value.encoding),
    files,
  }
}

const noFiles: FileFields = new Map()

function toKind(mediaType: string): BodyKind {
  const type = toMediaType(mediaType)
  if (isJsonMedia(type) || type === '*/*') return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  if (type.startsWith('multipart/')) return 'multipart'
  return isTextMedia(type) ? 'text' : 'file'
}

/** JSON first, because models write it best; a form with files only as multipart. */
function pickMediaType(document: OpenApiDocument, content: Fields): string | undefined {
  const types = Object.keys(content).filter(isMediaType)
  const order: readonly ((type: string) => boolean)[] = [
    (type) => toMediaType(type) === 'application/json',
    (type) => toKind(type) === 'json' && toMediaType(type) !== '*/*',
    (type) => toKind(type) === 'multipart' && hasFiles(document, content[type]),
    (type) => toKind(type) === 'form',
    (type) => toKind(type) === 'multipart',
    (type) => toKind(type) === 'text',
  ]
  for (const isPreferred of order) {
    const type = types.find(isPreferred)
    if (type !== undefined) return type
  }
  return types[0]
}

/** It becomes a header. */
const isMediaType = (type: string): boolean =>
  isFieldValue(type) && /^[\w.+*-]+\/[\w.+*-]+\s*(?:;.*)?$/.test(type)

const hasFiles = (document: OpenApiDocument, media: unknown): boolean =>
  isPlainObject(media) && findFiles(document, media.schema).size > 0

/** The fields of a multipart form that are files: binary strings, or lists of them. */
function findFiles(
  document: OpenApiDocument,
  schema: unknown,
  seen = new Set<Fields>(),
): FileFields {
  const fields = resolveSchema(document, schema)
  if (!fields || seen.has(fields)) return noFiles
  seen.add(fields)
  const files = new Map<string, FileField>()
  if (isPlainObject(fields.properties))
    for (const [name, property] of Object.entries(fields.properties)) {
      const { field, isNullable } = resolveField(document, property)
      const [type, ...others] = withoutNull(field?.type)
      const isList = type === 'array' && others.length === 0
      const item = isList ? resolveField(document, field?.items).field : field
      if (item && isFileSchema(item)) files.set(name, { isList, isNullable })
    }
  for (const keyword of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(fields[keyword]))
      for (const part of fields[keyword])
        for (const [name, file] of findFiles(document, part, seen)) files.set(name, file)
  return files
}

/** References that cannot be resolved are reported where the schema is translated. */
const resolveSchema = (document: OpenApiDocument, schema: unknown): Fields | undefined =>
  isPlainObject(schema) ? resolve(document, schema, [], new Findings())?.value : undefined

/**
 * The schema of a field, without what combines it with nothing else: `anyOf` with null, as FastAPI writes what is
 * optional, and `allOf` around one schema.
 */
function resolveField(
  document: OpenApiDocument,
  schema: unknown,
): { readonly field: Fields | undefined; readonly isNullable: boolean } {
  let field = resolveSchema(document, schema)
  let isNullable = false
  for (let depth = 0; field && depth < maxFieldDepth; depth++) {
    const parts = [field.anyOf, field.oneOf, field.allOf].find(Array.isArray) ?? []
    const [part, ...others] = parts.filter((one) => !isPlainObject(one) || !isNull(one))
    const hasNull = parts !== field.allOf && parts.some((one) => isPlainObject(one) && isNull(one))
    isNullable ||= hasNull || field.nullable === true || [field.type].flat().includes('null')
    if (field.type !== undefined || part === undefined || others.length > 0) break
    field = resolveSchema(document, part)
  }
  return { field, isNullable }
}

const maxFieldDepth = 10

const isNull = ({ type }: Fields): boolean => type !== undefined && withoutNull(type).length === 0

function toBodySchema(
  kind: BodyKind,
  mediaType: string,
  schema: unknown,
  path: DocumentPath,
  translator: SchemaTranslator,
  use: SchemaUse,
  files: FileFields,
): Json {
  if (kind === 'file') return toFileSchema(mediaType)
  if (kind === 'text') return { type: 'string' }
  const translated = schema === undefined ? {} : translator.translate(schema, path, use)
  return files.size === 0 ? translated : replaceFiles(translated, files, translator, use)
}

/** Shows files as `{ text | data, filename, mediaType }`; a referenced form is put in its place. */
function replaceFiles(
  schema: Json,
  files: FileFields,
  translator: SchemaTranslator,
  use: SchemaUse,
  seen = new Set<string>(),
): Json {
  if (!isPlainObject(schema)) return schema
  const reference = schema.$ref
  if (typeof reference === 'string') {
    const name = reference.replace('#/$defs/', '')
    // A form that contains itself cannot be put in place.
    if (seen.has(name)) {
      use.names.add(name)
      return schema
    }
    seen.add(name)
    const { $ref: _, ...siblings } = schema as JsonObject
    translator.inline(name, use)
    const target = replaceFiles(translator.definition(name) ?? true, files, translator, use, seen)
    return isPlainObject(target) ? { ...(target as JsonObject), ...siblings } : target
  }
  const result = { ...schema } as Record<string, Json>
  if (isPlainObject(result.properties))
    result.properties = Object.fromEntries(
      Object.entries(result.properties).map(([name, property]) => [
        name,
        toFileProperty(property as Json, files.get(name)),
      ]),
    )
  for (const keyword of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(result[keyword]))
      result[keyword] = (result[keyword] as Json[]).map((part) =>
        replaceFiles(part, files, translator, use, seen),
      )
  return result
}

function toFileProperty(property: Json, file: FileField | undefined): Json {
  if (!file) return property
  const description = isPlainObject(property) ? property.description : undefined
  const described = describe(fileSchema, { description })
  const shown = file.isList ? { type: 'array', items: described } : described
  return file.isNullable ? { anyOf: [shown, { type: 'null' }] } : shown
}

function readEncodings(
  { version }: OpenApiDocument,
  kind: BodyKind,
  encoding: unknown,
): Readonly<Record<string, FieldEncoding>> {
  if (!isPlainObject(encoding)) return {}
  // OpenAPI 3.0 has no styles in multipart; a converted Swagger 2.0 and 3.1 have.
  const hasStyles = kind !== 'multipart' || !version.startsWith('3.0')
  return Object.fromEntries(
    Object.entries(encoding).flatMap(([name, value]): [string, FieldEncoding][] =>
      isPlainObject(value) ? [[name, readEncoding(value, hasStyles)]] : [],
    ),
  )
}

function readEncoding({ contentType, style, explode }: Fields, hasStyles: boolean): FieldEncoding {
  const declaredStyle = styles.find((one) => one === style)
  const firstType =
    typeof contentType === 'string' ? contentType.split(',', 1)[0]?.trim() : undefined
  return {
    ...(firstType !== undefined && isMediaType(firstType) && { contentType: firstType }),
    ...(hasStyles && declaredStyle !== undefined && { style: declaredStyle }),
    ...(hasStyles && typeof explode === 'boolean' && { explode }),
  }
}
