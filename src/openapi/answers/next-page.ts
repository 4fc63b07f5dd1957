import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../../capability/json.ts'
import type { Notice } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toApplied, typesOf } from '../applied-schemas.ts'
import type { Operation } from '../compile-operation.ts'
import type { Parameter } from '../requests/parameters.ts'

export interface Page {
  readonly headers: IncomingHttpHeaders
  readonly data: unknown
  /** The URL of the request, without credentials. */
  readonly url: URL
  /** Whether the tool takes these arguments beside those of the call. */
  readonly accepts: (found: Arguments) => boolean
}

/** Tells which arguments fetch the next page, where the response says that there is one. */
export function toNextPage(operation: Operation, page: Page): Notice | undefined {
  const query = operation.parameters.filter(({ place }) => place === 'query')
  if (query.length === 0) return undefined
  const toTyped = createToTyped(operation, page)
  const found =
    fromUrl(query, page, toTyped) ??
    fromToken(query, page.data, toTyped) ??
    fromLastItem(query, page.data, toTyped)
  // A hint is repeated by the model: it must not carry a body of its own.
  if (!found || Object.values(found).some((one) => String(one).length > maxValueChars))
    return undefined
  return {
    about: 'nextPage',
    text: `There is a next page. Call this tool again with the same arguments and ${JSON.stringify(found)}.`,
    data: { arguments: found },
  }
}

const maxValueChars = 2000

type Arguments = { readonly [name: string]: Json }

/** A URL of the next page, as `Link: <…>; rel="next"` (RFC 8288) or in the body. */
function fromUrl(
  query: readonly Parameter[],
  { headers, data, url }: Page,
  toTyped: ToTyped,
): Arguments | undefined {
  const address =
    findLink(headers.link) ?? nextUrlPaths.map((path) => dig(data, path)).find(isAddress)
  if (address === undefined || !URL.canParse(address, url.href)) return undefined
  const next = new URL(address, url)
  const changed = query.flatMap((parameter): [string, Json][] => {
    const [value, former] = [next, url].map(({ searchParams }) => searchParams.get(parameter.name))
    const typed =
      value === null || value === undefined || value === former
        ? undefined
        : toTyped(value, parameter)
    return typed === undefined ? [] : [[parameter.argument, typed]]
  })
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

function findLink(header: string | string[] | undefined): string | undefined {
  for (const [, target, parameters = ''] of [header ?? '']
    .flat()
    .join(', ')
    .matchAll(/<([^<>]*)>([^<]*)/g))
    if (/;\s*rel="?(?:[^";]*\s)?next\b/i.test(parameters)) return target
  return undefined
}

const nextUrlPaths = [
  'next',
  'next_page_uri',
  'next_url',
  'nextLink',
  '@odata.nextLink',
  'links.next',
  'links.next.href',
  'links.pages.next',
  '_links.next.href',
  'paging.next',
  'pagination.next_url',
  'pagination.next',
  'meta.next',
]

const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && (/^https?:\/\//i.test(value) || /^[/?]/.test(value))

/** A token in the body, and the parameter that takes it. */
function fromToken(
  query: readonly Parameter[],
  data: unknown,
  toTyped: ToTyped,
): Arguments | undefined {
  for (const [path, ...names] of tokens) {
    const value = dig(data, path)
    if ((typeof value !== 'string' && typeof value !== 'number') || value === '') continue
    const parameter = query.find(({ name }) => names.includes(toWord(name)))
    const typed = parameter && toTyped(String(value), parameter)
    if (parameter && typed !== undefined) return { [parameter.argument]: typed }
  }
  return undefined
}

/** Where APIs put the token of the next page, and how the parameter is called, without `_` and case. */
// biome-ignore format: table
const tokens: readonly (readonly [path: string, ...parameters: string[]])[] = [
  ['response_metadata.next_cursor', 'cursor'],
  ['next_cursor',                   'cursor', 'startcursor', 'after', 'nextcursor'],
  ['nextCursor',                    'cursor', 'startcursor', 'after', 'nextcursor'],
  ['meta.next_cursor',              'cursor', 'after'],
  ['paging.cursors.after',          'after'],
  ['paging.next.after',             'after'],
  ['page_info.end_cursor',          'after', 'cursor'],
  ['next_page.offset',              'offset'],
  ['next_page_token',               'pagetoken', 'nextpagetoken'],
  ['nextPageToken',                 'pagetoken', 'nextpagetoken'],
  ['next_token',                    'nexttoken', 'paginationtoken'],
  ['nextToken',                     'nexttoken'],
  ['meta.next_token',               'paginationtoken', 'nexttoken'],
  ['next_marker',                   'marker'],
  ['nextMarker',                    'marker'],
  ['metadata.continue',             'continue'],
  ['pagination.next',               'cursor', 'after', 'pagetoken', 'page', 'offset'],
  ['next_page',                     'page'],
  ['nextPage',                      'page'],
  ['meta.next_page',                'page'],
]

/** Lists with `has_more`, whose next page begins after the id of the last item. */
function fromLastItem(
  query: readonly Parameter[],
  data: unknown,
  toTyped: ToTyped,
): Arguments | undefined {
  if (!isPlainObject(data) || data.has_more !== true) return undefined
  const last =
    dig(data, 'last_id') ?? (Array.isArray(data.data) ? dig(data.data.at(-1), 'id') : undefined)
  const parameter = query.find(({ name }) => ['startingafter', 'after'].includes(toWord(name)))
  const typed =
    parameter && (typeof last === 'string' || typeof last === 'number')
      ? toTyped(String(last), parameter)
      : undefined
  return parameter && typed !== undefined ? { [parameter.argument]: typed } : undefined
}

const toWord = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase()

function dig(data: unknown, path: string): unknown {
  // A key may contain dots: `@odata.nextLink`.
  if (isPlainObject(data) && Object.hasOwn(data, path)) return data[path]
  let value = data
  for (const key of path.split('.')) {
    if (!isPlainObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** The value of a parameter for a text in a response; nothing if the parameter cannot have it. */
type ToTyped = (text: string, parameter: Parameter) => Json | undefined

/** Only a value that the tool accepts is a hint. Lists and objects have many forms in a URL, and are left out. */
const createToTyped =
  ({ input }: Operation, { accepts }: Page): ToTyped =>
  (text, { schema, argument }) => {
    const applied = toApplied([schema], input)
    const types = applied.flatMap(typesOf).filter((one) => one !== 'null')
    // Every value is a text, too.
    const ordered = [...types.filter((one) => one !== 'string'), ...types]
    const values = types.length === 0 ? [text] : ordered.map((one) => toType(text, one))
    const enums = applied.flatMap(({ enum: allowed }) => (Array.isArray(allowed) ? [allowed] : []))
    return values.find(
      (one) =>
        one !== undefined &&
        (enums.length === 0 || enums.some((allowed) => allowed.includes(one))) &&
        accepts({ [argument]: one }),
    )
  }

function toType(text: string, type: unknown): Json | undefined {
  switch (type) {
    case 'string':
      return text
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : undefined)
    case 'integer':
    case 'number': {
      const isNumber = type === 'integer' ? /^-?\d+$/.test(text) : /^-?\d+(?:\.\d+)?$/.test(text)
      return isNumber && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER
        ? Number(text)
        : undefined
    }
    default:
      return undefined
  }
}
