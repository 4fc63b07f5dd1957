import { type ApiDocument, type Fields, isFields, type Located } from './api-document.ts'
import { listShapes, type PropertyShapes, type Shape } from './shapes.ts'

export type Place = 'path' | 'query' | 'header' | 'cookie'

/** A parameter of the document, or a field of a form. */
export interface ParameterSpec {
  readonly place: Place
  readonly name: string
  readonly isRequired: boolean
  /** Undefined for a value in a media type. */
  readonly style: string | undefined
  readonly explode: boolean
  readonly allowReserved: boolean
  readonly mediaType: string | undefined
  readonly shapes: ReadonlySet<Shape>
  /** The properties of an object, whose names an exploded form puts among the other parameters. */
  readonly properties: PropertyShapes
}

export interface MediaSpec {
  readonly type: string
  readonly schema: Located
  readonly encoding: Located
}

export interface OperationSpec {
  readonly method: string
  readonly route: string
  readonly parameters: readonly ParameterSpec[]
  readonly bodies: readonly MediaSpec[]
  readonly isBodyRequired: boolean
  readonly security: readonly Fields[]
  readonly responses: Located
  readonly produces: readonly string[]
  readonly pattern: RegExp
  /** What the route itself has after `?`: it tells operations of one path apart. */
  readonly ownQuery: readonly (readonly [name: string, value: string])[]
  readonly variables: readonly string[]
}

const methods = ['get', 'head', 'options', 'trace', 'post', 'put', 'patch', 'delete']

/** Every operation of a document, concrete paths before templates. */
export function listOperations(document: ApiDocument): readonly OperationSpec[] {
  const paths = document.get(document.root, 'paths')
  return document
    .keys(paths)
    .flatMap((route) =>
      methods.flatMap((method) => {
        const item = document.get(paths, route)
        const operation = document.get(item, method)
        return isFields(operation.value) ? [readOperation(document, route, method, item)] : []
      }),
    )
    .sort(
      (a, b) => a.variables.length - b.variables.length || b.ownQuery.length - a.ownQuery.length,
    )
}

function readOperation(
  document: ApiDocument,
  route: string,
  method: string,
  item: Located,
): OperationSpec {
  const operation = document.get(item, method)
  const declared = new Map<string, Located>()
  for (const parameter of [
    ...document.list(item, 'parameters'),
    ...document.list(operation, 'parameters'),
  ]) {
    const { in: place, name } = parameter.value as Fields
    declared.set(`${place} ${place === 'header' ? String(name).toLowerCase() : name}`, parameter)
  }
  const all = [...declared.values()]
  const own =
    document.get(operation, 'security').value ?? document.get(document.root, 'security').value
  const { pattern, variables } = toPattern(route)
  return {
    method: method.toUpperCase(),
    route,
    parameters: all.flatMap((one) => readParameter(document, one)),
    ...readBodies(document, operation, all),
    security: Array.isArray(own) ? own.filter(isFields) : [],
    responses: document.get(operation, 'responses'),
    produces: (document.get(operation, 'produces').value ??
      document.get(document.root, 'produces').value ??
      []) as string[],
    pattern,
    ownQuery: [...new URLSearchParams(route.split('#')[0]?.split('?')[1] ?? '')],
    variables,
  }
}

/** The specification ignores these as parameters. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

function readParameter(document: ApiDocument, node: Located): ParameterSpec[] {
  const value = node.value as Fields
  const place = value.in as Place
  if (!['path', 'query', 'header', 'cookie'].includes(place)) return []
  const name = String(value.name)
  if (place === 'header' && ignoredHeaders.has(name.toLowerCase())) return []
  const content = document.get(node, 'content')
  const [mediaType] = document.keys(content)
  const schema = document.isSwagger
    ? node
    : mediaType === undefined
      ? document.get(node, 'schema')
      : document.get(content, mediaType, 'schema')
  const { style, explode } = document.isSwagger
    ? fromCollectionFormat(value.collectionFormat, place)
    : toStyle(value, place)
  const { shapes, properties } = listShapes(document, schema)
  return [
    {
      place,
      name,
      isRequired: place === 'path' || value.required === true,
      style: mediaType === undefined ? style : undefined,
      explode,
      allowReserved: value.allowReserved === true,
      mediaType,
      shapes,
      properties,
    },
  ]
}

function toStyle({ style, explode }: Fields, place: Place): { style: string; explode: boolean } {
  const used =
    typeof style === 'string' ? style : place === 'query' || place === 'cookie' ? 'form' : 'simple'
  return {
    style: used,
    // A deepObject has one form only.
    explode: typeof explode === 'boolean' ? explode : used === 'form' || used === 'deepObject',
  }
}

/** Swagger 2.0: how arrays are written. */
function fromCollectionFormat(format: unknown, place: Place): { style: string; explode: boolean } {
  if (place === 'path' || place === 'header') return { style: 'simple', explode: false }
  if (format === 'multi') return { style: 'form', explode: true }
  if (format === 'ssv') return { style: 'spaceDelimited', explode: false }
  if (format === 'pipes') return { style: 'pipeDelimited', explode: false }
  return { style: 'form', explode: false }
}

function readBodies(
  document: ApiDocument,
  operation: Located,
  parameters: readonly Located[],
): Pick<OperationSpec, 'bodies' | 'isBodyRequired'> {
  if (document.isSwagger) return readSwaggerBodies(document, operation, parameters)
  const body = document.get(operation, 'requestBody')
  const content = document.get(body, 'content')
  return {
    isBodyRequired: (body.value as Fields | undefined)?.required === true,
    bodies: document.keys(content).map((type) => ({
      type,
      schema: document.get(content, type, 'schema'),
      encoding: document.get(content, type, 'encoding'),
    })),
  }
}

function readSwaggerBodies(
  document: ApiDocument,
  operation: Located,
  parameters: readonly Located[],
): Pick<OperationSpec, 'bodies' | 'isBodyRequired'> {
  const fields = parameters.map(({ value, file }) => ({ value: value as Fields, file }))
  const body = fields.find(({ value }) => value.in === 'body')
  const form = fields.filter(({ value }) => value.in === 'formData')
  const consumes = (document.get(operation, 'consumes').value ??
    document.get(document.root, 'consumes').value) as string[] | undefined
  const none = { value: undefined, file: document.root.file }
  if (body)
    return {
      isBodyRequired: body.value.required === true,
      bodies: (consumes ?? ['application/json']).map((type) => ({
        type,
        schema: document.get(body, 'schema'),
        encoding: none,
      })),
    }
  if (form.length === 0) return { isBodyRequired: false, bodies: [] }
  const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data']
  const hasFile = form.some(({ value }) => value.type === 'file')
  const types = hasFile
    ? ['multipart/form-data']
    : (consumes ?? []).filter((type) => formTypes.includes(type))
  return {
    isBodyRequired: form.some(({ value }) => value.required === true),
    bodies: (types.length > 0 ? types : formTypes).map((type) => ({
      type,
      schema: {
        value: {
          type: 'object',
          properties: Object.fromEntries(
            form.map(({ value }) => [
              String(value.name),
              value.type === 'file' ? { type: 'string', format: 'binary' } : value,
            ]),
          ),
        },
        file: document.root.file,
      },
      encoding: { value: toFormEncoding(form.map(({ value }) => value)), file: none.file },
    })),
  }
}

/** Lists in a form are comma-separated, unless the document says otherwise. */
const toFormEncoding = (fields: readonly Fields[]): Fields =>
  Object.fromEntries(
    fields
      .filter(({ type }) => type === 'array')
      .map(({ name, collectionFormat }) => [
        String(name),
        fromCollectionFormat(collectionFormat, 'query'),
      ]),
  )

/** A variable never contains a slash. What follows `#` in a route only tells operations apart. */
function toPattern(route: string): { pattern: RegExp; variables: readonly string[] } {
  const variables: string[] = []
  const [path = ''] = route.split(/[?#]/, 1)
  const source = path.split(/(\{[^{}]+\})/).map((part, index) => {
    if (index % 2 === 0) return encodeURI(part).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    variables.push(part.slice(1, -1))
    return '([^/]*?)'
  })
  return { pattern: new RegExp(`^${source.join('')}$`), variables }
}
