import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ApiDocument, isFields } from './api-document.ts'
import { type AcceptedCredentials, checkCredentials } from './check-credentials.ts'
import { type DecodedBody, decodeBody, matchesMedia } from './decode-bodies.ts'
import { type Decoded, decodeHeader, decodePath, RawPairs } from './decode-parameters.ts'
import { listOperations, type OperationSpec, type ParameterSpec } from './operations.ts'

/** A request as the API understood it. */
export interface ReceivedRequest {
  readonly method: string
  readonly target: string
  readonly headers: http.IncomingHttpHeaders
  readonly bytes: Buffer
  readonly operation: OperationSpec | undefined
  readonly parameters: readonly {
    readonly spec: ParameterSpec
    readonly readings: readonly Decoded[]
  }[]
  readonly body: DecodedBody | undefined
  /** The schemes of the alternative that was satisfied. */
  readonly credentials: readonly string[]
  /** What the API would reject. */
  readonly problems: readonly string[]
}

export interface MockReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Answers a request itself and returns `true`, or returns a reply, or nothing for the documented answer. */
export type Respond = (
  received: ReceivedRequest,
  response: ServerResponse,
  request: IncomingMessage,
) => MockReply | true | undefined

export interface MockApiOptions {
  readonly credentials?: AcceptedCredentials
  /** Before every path. */
  readonly basePath?: string
  readonly respond?: Respond
}

export interface MockApi {
  readonly host: string
  readonly url: string
  readonly received: readonly ReceivedRequest[]
  /** Of routes that differ only in what follows `#`, requests are read as this one. */
  expect(route: string | undefined): void
  close(): Promise<void>
}

/** An API that behaves as its document says, on a free port of the loopback interface. */
export async function startMockApi(
  document: ApiDocument,
  { credentials = {}, basePath = '', respond = () => undefined }: MockApiOptions = {},
): Promise<MockApi> {
  const operations = listOperations(document)
  const received: ReceivedRequest[] = []
  let expectedRoute: string | undefined
  const server = http.createServer(async (request, response) => {
    const bytes = await readAll(request)
    const candidates = [...operations.filter(({ route }) => route === expectedRoute), ...operations]
    const one = understand(document, candidates, request, bytes, credentials, basePath)
    received.push(one)
    const reply = respond(one, response, request)
    if (reply !== true) send(response, request, reply ?? toReply(document, one))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    url: `http://${host}${basePath}`,
    received,
    expect: (route) => {
      expectedRoute = route
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Headers of the connection and of every client. */
const usualHeaders = new Set([
  'host',
  'connection',
  'accept',
  'accept-encoding',
  'authorization',
  'content-type',
  'content-length',
  'cookie',
  'idempotency-key',
  'traceparent',
])

function understand(
  document: ApiDocument,
  operations: readonly OperationSpec[],
  request: IncomingMessage,
  bytes: Buffer,
  accepted: AcceptedCredentials,
  basePath: string,
): ReceivedRequest {
  const { method = '', url: target = '', headers } = request
  const [path = '', search = ''] = splitTarget(target)
  const problems: string[] = []
  const received = { method, target, headers, bytes, problems }
  const nothing = { operation: undefined, parameters: [], body: undefined, credentials: [] }
  const match = findOperation(operations, method, path.slice(basePath.length), search)
  if (!path.startsWith(basePath) || !match) {
    problems.push(`no operation ${method} ${path}`)
    return { ...received, ...nothing }
  }
  const { operation, variables } = match
  const query = RawPairs.ofQuery(search)
  for (const [name] of operation.ownQuery) query.takeCredential(name)
  const cookies = RawPairs.ofCookies(headers.cookie ?? '')
  const credentials = checkCredentials(
    document,
    operation.security,
    { headers, query, cookies },
    accepted,
  )
  if (!credentials) problems.push('no valid credentials')
  const parameters = orderForDecoding(operation.parameters).flatMap((spec) => {
    const readings = attempt(problems, `${spec.place} ${spec.name}`, () =>
      decodeParameter(spec, variables, query, headers, cookies),
    )
    if (readings === undefined && spec.isRequired && !isKeyHeader(spec))
      problems.push(`${spec.place} parameter ${spec.name} is missing`)
    return readings === undefined ? [] : [{ spec, readings }]
  })
  for (const name of query.leftOver) problems.push(`unknown query parameter ${name}`)
  for (const name of cookies.leftOver) problems.push(`unknown cookie ${name}`)
  const known = new Set([
    ...operation.parameters.flatMap(({ place, name }) =>
      place === 'header' ? [name.toLowerCase()] : [],
    ),
    ...listKeyHeaders(document),
  ])
  for (const name of Object.keys(headers))
    if (!usualHeaders.has(name) && !known.has(name)) problems.push(`unknown header ${name}`)
  const body = attempt(problems, 'body', () =>
    readBody(document, operation, headers, bytes, problems),
  )
  return {
    ...received,
    operation,
    parameters,
    body,
    credentials: credentials ?? [],
  }
}

function splitTarget(target: string): readonly [string, string] {
  const at = target.indexOf('?')
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at)]
}

const isKeyHeader = ({ place, name }: ParameterSpec): boolean =>
  place === 'header' && name.toLowerCase() === 'idempotency-key'

function findOperation(
  operations: readonly OperationSpec[],
  method: string,
  path: string,
  search: string,
): { operation: OperationSpec; variables: ReadonlyMap<string, string> } | undefined {
  for (const operation of operations) {
    if (operation.method !== method) continue
    const match = operation.pattern.exec(path)
    const query = new URLSearchParams(search)
    const isMeant = operation.ownQuery.every(([name, value]) => query.get(name) === value)
    if (!match || !isMeant) continue
    const variables = new Map(
      operation.variables.map((name, index) => [name, match[index + 1] ?? '']),
    )
    return { operation, variables }
  }
  return undefined
}

/** Exploded objects take the names that are left: those with named properties first. */
const orderForDecoding = (parameters: readonly ParameterSpec[]): readonly ParameterSpec[] =>
  [...parameters].sort((a, b) => toRank(a) - toRank(b))

function toRank({ style, explode, shapes, properties }: ParameterSpec): number {
  const isExploded = style === 'form' && explode && shapes.has('object')
  return isExploded ? (properties ? 1 : 2) : 0
}

function decodeParameter(
  spec: ParameterSpec,
  variables: ReadonlyMap<string, string>,
  query: RawPairs,
  headers: http.IncomingHttpHeaders,
  cookies: RawPairs,
): readonly Decoded[] | undefined {
  switch (spec.place) {
    case 'path': {
      const raw = variables.get(spec.name)
      return raw === undefined ? undefined : decodePath(spec, raw)
    }
    case 'query':
      return query.take(spec)
    case 'cookie':
      return cookies.take(spec)
    case 'header': {
      const raw = headers[spec.name.toLowerCase()]
      return raw === undefined ? undefined : decodeHeader(spec, [raw].flat().join(','))
    }
  }
}

function listKeyHeaders(document: ApiDocument): readonly string[] {
  const schemes = document.isSwagger
    ? document.get(document.root, 'securityDefinitions')
    : document.get(document.root, 'components', 'securitySchemes')
  return document.keys(schemes).flatMap((name) => {
    const { value } = document.get(schemes, name)
    return isFields(value) && value.type === 'apiKey' && value.in === 'header'
      ? [String(value.name).toLowerCase()]
      : []
  })
}

function readBody(
  document: ApiDocument,
  { bodies, isBodyRequired }: OperationSpec,
  headers: http.IncomingHttpHeaders,
  bytes: Buffer,
  problems: string[],
): DecodedBody | undefined {
  const contentType = headers['content-type']
  if (contentType === undefined && bytes.length === 0) {
    if (isBodyRequired) problems.push('the body is missing')
    return undefined
  }
  const media = bodies.find(({ type }) => matchesMedia(type, contentType ?? ''))
  if (media) return decodeBody(document, media, contentType ?? '', bytes)
  problems.push(`a body of type ${contentType} is not declared`)
  return undefined
}

function attempt<T>(problems: string[], subject: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    problems.push(`${subject}: ${(error as Error).message}`)
    return undefined
  }
}

/** The first successful response of the document; 400 or 401 for a request that does not fit it. */
function toReply(document: ApiDocument, { operation, problems }: ReceivedRequest): MockReply {
  if (problems.length > 0 || !operation)
    return {
      status: problems.includes('no valid credentials') ? 401 : 400,
      headers: { 'content-type': 'application/problem+json' },
      body: JSON.stringify({ title: 'Bad request', detail: problems.join('; ') }),
    }
  const { responses, produces } = operation
  const declared = document.keys(responses).filter((key) => !key.startsWith('x-'))
  const key =
    declared.find((one) => /^2/.test(one)) ??
    declared.find((one) => one === 'default') ??
    declared[0]
  const status = /^\d{3}$/.test(key ?? '') ? Number(key) : 200
  const response = document.get(responses, key ?? '')
  const types = document.isSwagger
    ? document.get(response, 'schema').value === undefined
      ? []
      : produces
    : document.keys(document.get(response, 'content'))
  const [type] = types
  if (type === undefined || status === 204) return { status }
  return { status, headers: { 'content-type': type.replaceAll('*', 'plain') }, body: toBody(type) }
}

function toBody(type: string): string | Buffer {
  if (/[/+]json/.test(type)) return '{"ok":true}'
  if (type.startsWith('text/')) return 'ok'
  return Buffer.from([0x00, 0xff, 0x80, 0x0a])
}

function send(response: ServerResponse, request: IncomingMessage, reply: MockReply): void {
  response.writeHead(reply.status, { ...reply.headers })
  response.end(request.method === 'HEAD' ? undefined : reply.body)
}
