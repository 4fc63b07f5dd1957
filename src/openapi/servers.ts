import { type Fault, isFault } from '../capability/fault.ts'
import { isFailed } from '../capability/outcome.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { toEndpoint } from '../upstream/endpoint.ts'
import type { Fields, OpenApiDocument } from './document.ts'
import type { DeclaredOperation } from './list-operations.ts'

/** What the operator says about the servers of a document. */
export interface ServerChoice {
  /** The base URL of all operations, instead of the document's. */
  readonly server?: string | undefined
  /** Values of variables in the document's server URLs. */
  readonly variables?: Readonly<Record<string, string>> | undefined
}

/** The base URL of an operation: the operator's, else the nearest `servers` entry of the document. */
export function findServer(
  document: OpenApiDocument,
  { value, item }: DeclaredOperation,
  { server, variables = {} }: ServerChoice,
): URL | Fault {
  const template =
    server ??
    [value, item.value, document.root].map(readFirstServer).find((one) => one !== undefined)
  if (template === undefined || template === '')
    return { fault: 'the document names no server; set "server" of the source' }
  const text = typeof template === 'string' ? template : fillIn(template, variables)
  if (typeof text !== 'string') return text
  const address = toAbsolute(text, document.url)
  if (address === undefined)
    return {
      fault: `the server URL ${JSON.stringify(text)} is relative; set "server" of the source`,
    }
  const endpoint = toEndpoint(address)
  return isFailed(endpoint)
    ? { fault: endpoint.failure.cause ?? 'the server URL is not valid' }
    : endpoint
}

/** The names of variables in all servers of a document. */
export function listServerVariables(
  { root }: OpenApiDocument,
  operations: readonly DeclaredOperation[],
): ReadonlySet<string> {
  const owners = [root, ...operations.flatMap(({ value, item }) => [value, item.value])]
  const servers = owners.flatMap((one) => (Array.isArray(one.servers) ? one.servers : []))
  return new Set(
    servers.flatMap((server: unknown) =>
      isPlainObject(server) && typeof server.url === 'string'
        ? [...server.url.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
        : [],
    ),
  )
}

interface ServerTemplate {
  readonly url: string
  readonly variables: Fields
}

function readFirstServer({ servers }: Fields): ServerTemplate | undefined {
  const [server] = Array.isArray(servers) ? servers : []
  if (!isPlainObject(server) || typeof server.url !== 'string') return undefined
  return {
    url: server.url.trim(),
    variables: isPlainObject(server.variables) ? server.variables : {},
  }
}

function fillIn(
  { url, variables }: ServerTemplate,
  chosen: Readonly<Record<string, string>>,
): string | Fault {
  const faults: Fault[] = []
  const text = url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = toVariable(name, variables[name], chosen)
    if (typeof value === 'string') return value
    faults.push(value)
    return ''
  })
  return faults[0] ?? text
}

function toVariable(
  name: string,
  variable: unknown,
  chosen: Readonly<Record<string, string>>,
): string | Fault {
  const { default: fallback, enum: allowed } = isPlainObject(variable) ? variable : {}
  const value = Object.hasOwn(chosen, name) ? chosen[name] : fallback
  if (typeof value !== 'string' && typeof value !== 'number')
    return {
      fault: `the server variable ${name} has no default; set it under "variables" of the source`,
    }
  if (Array.isArray(allowed) && allowed.length > 0 && !allowed.map(String).includes(String(value)))
    return {
      fault: `the server variable ${name} cannot be ${JSON.stringify(value)}: the document allows ${allowed.join(', ')}`,
    }
  return String(value)
}

function toAbsolute(text: string, base: string | undefined): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return text
  return base !== undefined && URL.canParse(text, base) ? new URL(text, base).href : undefined
}

/** The URL as `diff` and approvals compare it. */
export const toServerText = (server: URL | Fault): string | undefined =>
  isFault(server) ? undefined : server.href.replace(/\/+$/, '')
