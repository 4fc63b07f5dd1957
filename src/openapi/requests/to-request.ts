import { type Fault, isFault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ApiTarget } from '../api-client.ts'
import type { Operation } from '../compile-operation.ts'
import type { RequestCredential } from '../security/credentials.ts'
import { findAmbiguity } from './find-ambiguity.ts'
import { findRounded } from './large-integers.ts'
import type { Parameter } from './parameters.ts'
import {
  encodeCookie,
  encodeStrictly,
  toCookiePairs,
  toHeaderText,
  toPathText,
  toQueryPairs,
  toScalar,
} from './serialize.ts'
import { writeBody } from './write-body.ts'

/** A request without credentials. */
export interface PlainRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
  readonly body: Uint8Array | undefined
}

/** Builds the request of a call from valid arguments. A fault is a message for the model. */
export function toRequest(operation: Operation, server: URL, input: unknown): PlainRequest | Fault {
  const values = isPlainObject(input) ? input : {}
  const ambiguity = findAmbiguity(operation.parameters, values) ?? findRounded(operation, values)
  if (ambiguity) return ambiguity
  const path = toPath(operation, values)
  if (isFault(path)) return path
  const url = toUrl(server, path.text, toQuery(operation.parameters, values))
  if (isFault(url)) return url
  const headers = toHeaders(operation, values)
  if (isFault(headers)) return headers
  const { body } = operation
  const value = body && values[body.argument]
  const written = body && value !== undefined ? writeBody(body, value, operation.input) : undefined
  if (written && isFault(written)) return written
  const content = written && toBytes(written.content)
  if (written && content) {
    headers.values['content-type'] = written.contentType
    // Node sends none for DELETE, GET and OPTIONS: the server would read the body as the next request.
    headers.values['content-length'] = String(content.length)
  }
  return {
    method: operation.method.toUpperCase(),
    url,
    headers: headers.values,
    cookies: toCookies(operation.parameters, values),
    body: content,
  }
}

/** Beside a body that is a string, Node would write the headers as UTF-8 instead of Latin-1. */
const toBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content

type Values = Readonly<Record<string, unknown>>

/** Null means absent: no style can write it. */
const list = (parameters: readonly Parameter[], place: Parameter['place'], values: Values) =>
  parameters.flatMap((parameter) => {
    const value = Object.hasOwn(values, parameter.argument) ? values[parameter.argument] : undefined
    return parameter.place === place && value !== undefined && value !== null
      ? [{ ...parameter, value }]
      : []
  })

function toPath(
  { route, parameters }: Operation,
  values: Values,
): { readonly text: string } | Fault {
  const texts = new Map(
    list(parameters, 'path', values).map(({ name, value, format, argument }) => [
      name,
      { text: toPathText(name, value, format), argument },
    ]),
  )
  const faults: Fault[] = []
  for (const { value, argument } of list(parameters, 'path', values))
    if (listTexts(value).some(hasDotSegment))
      faults.push({ fault: `A part of the path must not be "." or "..": see "${argument}".` })
  const text = route.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = texts.get(name)
    if (!variable || variable.text === '')
      faults.push({
        fault: `"${variable?.argument ?? name}" must not be empty: it is part of the path.`,
      })
    return variable?.text ?? ''
  })
  return faults[0] ?? { text }
}

const listTexts = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.map(toScalar)
  return isPlainObject(value) ? Object.entries(value).flat().map(toScalar) : [toScalar(value)]
}

/** The URL of an operation whose path has no variables; nothing if it has some. */
export function toPlainUrl({ operation, server }: ApiTarget): URL | undefined {
  if (isFault(server) || operation.route.includes('{')) return undefined
  const url = toUrl(server, operation.route, '')
  return isFault(url) ? undefined : url
}

function toUrl(server: URL, path: string, query: string): URL | Fault {
  const base = server.pathname.replace(/\/+$/, '')
  // Values are encoded: these characters come from the template.
  const [route = '', ownQuery = ''] = path.split('#', 1)[0]?.split('?') ?? []
  const pathname = `${base}${route}`
  const url = new URL(server)
  url.pathname = pathname
  // The URL parser normalises `.` and `..`, which would call another path.
  const isSame = pathname.split('/').length === url.pathname.split('/').length
  if (!isSame || hasDotSegment(pathname))
    return { fault: 'A part of the path must not be "." or "..".' }
  url.search = [server.search.slice(1), ownQuery, query].filter((part) => part !== '').join('&')
  return url
}

/** Why no request can have a path template; nothing if it can. */
export function findRouteFault(route: string): string | undefined {
  const [path = ''] = route.split(/[?#]/, 1)
  if (hasDotSegment(path))
    return 'The path has the segment "." or "..", and a request would go to another path.'
  return path.includes('\\') ? 'The path has a backslash, which URLs cannot have.' : undefined
}

/** Encoded separators count: many proxies and servers decode a path before they normalise it. */
const hasDotSegment = (path: string): boolean =>
  path.split(/[/\\]|%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))

const toQuery = (parameters: readonly Parameter[], values: Values): string =>
  list(parameters, 'query', values)
    .flatMap(({ name, value, format }) => toQueryPairs(name, value, format))
    .map(([name, text]) => `${name}=${text}`)
    .join('&')

const toCookies = (parameters: readonly Parameter[], values: Values): string[] =>
  list(parameters, 'cookie', values)
    .flatMap(({ name, value, format }) => toCookiePairs(name, value, format))
    .map(([name, text]) => `${name}=${text}`)

function toHeaders(
  { parameters, accept }: Operation,
  values: Values,
): { readonly values: Record<string, string> } | Fault {
  const headers: Record<string, string> = {
    accept,
    'accept-encoding': 'identity',
  }
  for (const { name, argument, value, format } of list(parameters, 'header', values)) {
    const text = toHeaderText(value, format).trim()
    // Prevents header injection; other characters have no defined encoding in a header.
    if (!/^[\x20-\x7e\x80-\xff]*$/.test(text))
      return {
        fault: `"${argument}" is sent as a header: it must be one line of Latin-1 characters.`,
      }
    headers[name.toLowerCase()] = text
  }
  return { values: headers }
}

/** Adds credentials; they take precedence over arguments of the same name. */
export function withCredentials(
  { url, headers, cookies, ...request }: PlainRequest,
  credentials: readonly RequestCredential[],
): Omit<PlainRequest, 'cookies'> {
  const signedUrl = new URL(url)
  const allHeaders: Record<string, string> = { ...headers }
  let allCookies = [...cookies]
  for (const { place, name, value } of credentials)
    if (place === 'header') allHeaders[name.toLowerCase()] = value
    else if (place === 'cookie') allCookies = withPair(allCookies, name, encodeCookie(value))
    else {
      const pairs = signedUrl.search.slice(1).split('&')
      signedUrl.search = withPair(pairs, encodeStrictly(name), encodeStrictly(value)).join('&')
    }
  if (allCookies.length > 0) allHeaders.cookie = allCookies.join('; ')
  return { ...request, url: signedUrl, headers: allHeaders }
}

/** Of two values with one name a server could take either: an argument gives way to the credential. */
const withPair = (pairs: readonly string[], name: string, value: string): string[] => [
  ...pairs.filter((pair) => pair !== '' && pair.split('=', 1)[0] !== name),
  `${name}=${value}`,
]
