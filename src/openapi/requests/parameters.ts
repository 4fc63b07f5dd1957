import type { Json, JsonObject } from '../../capability/json.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type DocumentNode, type OpenApiDocument, resolve } from '../document.ts'
import { type DeclaredOperation, resolveParameters } from '../list-operations.ts'
import type { SchemaTranslator, SchemaUse } from '../schemas.ts'
import { isJsonMedia } from './media-types.ts'

export const places = ['path', 'query', 'header', 'cookie'] as const
export type Place = (typeof places)[number]

export const styles = [
  'simple',
  'label',
  'matrix',
  'form',
  'spaceDelimited',
  'pipeDelimited',
  'deepObject',
] as const
export type Style = (typeof styles)[number]

/** A parameter of an operation, as it is sent. */
export interface Parameter {
  /** The name in the request. */
  readonly name: string
  /** The name of the argument: parameters in two places can have the same name. */
  readonly argument: string
  readonly place: Place
  readonly isRequired: boolean
  readonly schema: Json
  /** How the value is written: by a style of RFC 6570, or as the text of a media type. */
  readonly format: ParameterFormat
  /** Characters between the items of a list or object that its style cannot encode. */
  readonly separators?: readonly string[] | undefined
}

export type ParameterFormat =
  | {
      readonly kind: 'style'
      readonly style: Style
      readonly explode: boolean
      readonly allowReserved: boolean
    }
  | { readonly kind: 'json' }
  | { readonly kind: 'text' }

/** The styles that the specification allows for each place; the first is the default. */
// biome-ignore format: table
const stylesByPlace: Readonly<Record<Place, readonly [Style, ...Style[]]>> = {
  path:   ['simple', 'label', 'matrix'],
  query:  ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

/** The parameters of an operation and of its path item; those of the operation take precedence. */
export function readParameters(
  document: OpenApiDocument,
  operation: DeclaredOperation,
  translator: SchemaTranslator,
  use: SchemaUse,
): readonly Parameter[] {
  const { findings } = use
  const { item, value, path, route } = operation
  const nodes = [
    ...resolveParameters(document, item.value.parameters, [...item.path, 'parameters'], findings),
    ...resolveParameters(document, value.parameters, [...path, 'parameters'], findings),
  ]
  const byPlaceAndName = new Map(nodes.map((node) => [toKey(node), node]))
  const variables = new Set([...route.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name))
  if (byPlaceAndName.size + variables.size > maxParameters) {
    findings.fault(
      [...path, 'parameters'],
      `An operation can have ${maxParameters} parameters, and this one has more.`,
    )
    return []
  }
  const used: UsedArguments = { names: new Set(), nextNumbers: new Map() }
  const parameters = [...byPlaceAndName.values()].flatMap((node) => {
    const parameter = readParameter(document, node, used, translator, use)
    return parameter ? [parameter] : []
  })
  return [...parameters, ...toUndeclared([...variables], parameters, path, used, use)]
}

/** Far more than models can fill in. */
const maxParameters = 1000

/** Names of headers are case-insensitive. */
const toKey = ({ value: { in: place, name } }: DocumentNode): string =>
  `${place} ${place === 'header' ? String(name).toLowerCase() : name}`

function readParameter(
  document: OpenApiDocument,
  { value, path }: DocumentNode,
  used: UsedArguments,
  translator: SchemaTranslator,
  use: SchemaUse,
): Parameter | undefined {
  const { findings } = use
  const name = String(value.name)
  const place = places.find((one) => one === value.in)
  if (!place) {
    findings.fault([...path, 'in'], `Parameters in ${JSON.stringify(value.in)} are not supported.`)
    return undefined
  }
  const isRequired = place === 'path' || value.required === true
  if (place === 'header' && reservedHeaders.has(name.toLowerCase())) {
    // The specification says that the first three are ignored; the others belong to the connection.
    if (!ignoredHeaders.has(name.toLowerCase()))
      findings.remark(
        path,
        methodHeaders.has(name.toLowerCase())
          ? `The header ${name} could change the method of the call, and is no argument.`
          : `The header ${name} is set by the connection, and is no argument.`,
      )
    else if (name.toLowerCase() === 'authorization')
      findings.note(path, 'Authorization is no argument: bind a secret to a security scheme.')
    return undefined
  }
  if (place === 'header' && !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
    findings.fault([...path, 'name'], `${JSON.stringify(name)} is not a valid name of a header.`)
    return undefined
  }
  const media = readContent(document, value.content, [...path, 'content'], findings)
  const schemaNode = media ?? { value: value.schema, path: [...path, 'schema'] }
  const schema =
    schemaNode.value === undefined
      ? {}
      : translator.translate(schemaNode.value, schemaNode.path, use)
  const argument = takeArgument(name, place, used)
  if (argument !== name) findings.note(path, `The argument for ${name} is named ${argument}.`)
  const format: ParameterFormat = media
    ? { kind: isJsonMedia(media.type) ? 'json' : 'text' }
    : readStyle(place, value, path, use)
  const described = describe(schema === true ? {} : schema, value)
  return {
    name,
    argument,
    place,
    isRequired,
    schema: argument === name ? described : withRealName(described, place, name),
    format,
    separators: toSeparators(place, format),
  }
}

/** The name can mean something that the argument's name lost, such as `Time<` for `Time_2`. */
function withRealName(schema: Json, place: Place, name: string): Json {
  if (!isPlainObject(schema)) return schema
  const { description } = schema
  const sentence = `Sent in the ${place} as ${name}.`
  return {
    ...(schema as JsonObject),
    description: typeof description === 'string' ? `${description} ${sentence}` : sentence,
  }
}

/** Clients allow these names of properties; `filter[name]` becomes `filter_name`. */
const plainArgument = /^[\w.-]{1,64}$/

interface UsedArguments {
  readonly names: Set<string>
  /** The first number that was not tried, by the name that it is added to. */
  readonly nextNumbers: Map<string, number>
}

function takeArgument(name: string, place: string, { names, nextNumbers }: UsedArguments): string {
  const argument = toArgument(name, place, names, nextNumbers)
  names.add(argument)
  return argument
}

/** Unique among the arguments of an operation: parameters in two places can have the same name. */
export function toArgument(
  name: string,
  place: string,
  used: ReadonlySet<string>,
  nextNumbers = new Map<string, number>(),
): string {
  const words = name.replaceAll(/[^\w.-]+/g, '_').replaceAll(/^_+|_+$/g, '')
  const plain = plainArgument.test(name) ? name : words.slice(0, 48) || place
  const stem = `${place}_${plain}`.slice(0, 60)
  if (!used.has(plain)) return plain
  if (!used.has(stem)) return stem
  let number = nextNumbers.get(stem) ?? 2
  while (used.has(`${stem}_${number}`)) number++
  nextNumbers.set(stem, number + 1)
  return `${stem}_${number}`
}

function toSeparators(place: Place, format: ParameterFormat): readonly string[] | undefined {
  if (format.kind !== 'style') return undefined
  const { style, explode, allowReserved } = format
  if (place === 'header') return explode ? [',', '='] : [',']
  if (place !== 'query' || explode) return undefined
  if (style === 'spaceDelimited') return [' ']
  if (style === 'pipeDelimited') return ['|']
  return style === 'form' && allowReserved ? [','] : undefined
}

const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

/** Servers that know them run another method than the one that is governed. */
const methodHeaders = new Set(['x-http-method', 'x-http-method-override', 'x-method-override'])

const reservedHeaders = new Set([
  ...ignoredHeaders,
  ...methodHeaders,
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function readContent(
  document: OpenApiDocument,
  content: unknown,
  path: DocumentNode['path'],
  findings: SchemaUse['findings'],
):
  | { readonly type: string; readonly value: unknown; readonly path: DocumentNode['path'] }
  | undefined {
  if (!isPlainObject(content)) return undefined
  const [entry] = Object.entries(content)
  if (!entry) return undefined
  const [type, media] = entry
  const node = resolve(document, media, [...path, type], findings)
  return node && { type, value: node.value.schema, path: [...node.path, 'schema'] }
}

function readStyle(
  place: Place,
  { style, explode, allowReserved }: DocumentNode['value'],
  path: DocumentNode['path'],
  { findings }: SchemaUse,
): ParameterFormat {
  const [defaultStyle, ...others] = stylesByPlace[place]
  const allowedStyles: readonly Style[] = [defaultStyle, ...others]
  const declared = style === undefined ? defaultStyle : allowedStyles.find((one) => one === style)
  if (!declared)
    findings.remark(
      [...path, 'style'],
      `The style ${JSON.stringify(style)} is not possible in ${place}; ${defaultStyle} is used.`,
    )
  const used = declared ?? defaultStyle
  return {
    kind: 'style',
    style: used,
    explode: typeof explode === 'boolean' ? explode : used === 'form' || used === 'deepObject',
    allowReserved: allowReserved === true,
  }
}

/** Descriptions of a parameter belong to the parameter, not to its schema. */
export function describe(schema: Json, { description, deprecated }: DocumentNode['value']): Json {
  if (!isPlainObject(schema)) return schema
  const text = typeof description === 'string' ? description.trim() : ''
  const { description: ownText, ...keywords } = schema as JsonObject
  return dropUndefined({
    description: text === '' ? ownText : text,
    deprecated: deprecated === true ? true : keywords.deprecated,
    ...keywords,
  })
}

/** Variables of the path template that no parameter declares: without them the path cannot be built. */
function toUndeclared(
  variables: readonly string[],
  parameters: readonly Parameter[],
  path: DocumentNode['path'],
  used: UsedArguments,
  { findings }: SchemaUse,
): Parameter[] {
  const declaredNames = new Set(
    parameters.flatMap(({ place, name }) => (place === 'path' ? [name] : [])),
  )
  const undeclared = variables.filter((name) => !declaredNames.has(name))
  return undeclared.map((name) => {
    findings.remark(path, `The path has {${name}}, which no parameter declares; it is a string.`)
    return {
      name,
      argument: takeArgument(name, 'path', used),
      place: 'path',
      isRequired: true,
      schema: { type: 'string' },
      format: { kind: 'style', style: 'simple', explode: false, allowReserved: false },
    }
  })
}
