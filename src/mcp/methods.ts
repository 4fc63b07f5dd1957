import type { Result } from '@modelcontextprotocol/server'
import { type Call, createCall } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import type { Message } from '../capability/content.ts'
import type { Json } from '../capability/json.ts'
import type { Asking, Done, Failed, Outcome } from '../capability/outcome.ts'
import { whenDone } from '../capability/when-done.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Method } from './engine.ts'
import type { Exchange } from './exchange.ts'
import { noParams, type Params } from './message.ts'
import { checkParamHeaders } from './modern/param-headers.ts'
import { toAnswers, toAskable, toInputRequests } from './questions.ts'
import type { StateBinding } from './request-state.ts'
import { brief, invalidParams } from './rpc-error.ts'
import { type Surface, toCallAddress, toServerCapabilities } from './surface.ts'
import { toContents } from './to-resource.ts'
import { toProtocolError, toResult } from './to-result.ts'
import { modernRevision, requestMeta } from './wire-names.ts'

/** Every request that a client can make, in both protocol eras and on every transport. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['server/discover', discover],
  ['tools/list', (surface, params, { caller }) => toPage(params, surface.lists(caller).tools)],
  ['tools/call', callTool],
  [
    'resources/list',
    (surface, params, { caller }) => toPage(params, surface.lists(caller).resources),
  ],
  [
    'resources/templates/list',
    (surface, params, { caller }) => toPage(params, surface.lists(caller).templates),
  ],
  ['resources/read', readResource],
  ['prompts/list', (surface, params, { caller }) => toPage(params, surface.lists(caller).prompts)],
  ['prompts/get', getPrompt],
  ['completion/complete', complete],
])

/** The parameter that names a method's target; modern clients repeat it in the `Mcp-Name` header. */
export const targetParams: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

function discover(surface: Surface): Result {
  return dropUndefined({
    supportedVersions: [modernRevision],
    capabilities: toServerCapabilities(surface),
    instructions: surface.instructions,
    ttlMs: 60_000,
    cacheScope: 'public',
  })
}

/** Lists have a single page, so every cursor is unknown. */
function toPage<T>({ cursor }: Params, result: T): T {
  if (cursor !== undefined) throw invalidParams('Unknown cursor')
  return result
}

function callTool(surface: Surface, params: Params, exchange: Exchange): Result | Promise<Result> {
  const name = stringParam(params, 'name')
  const tool = surface.projection.findTool(name)
  if (!tool) throw invalidParams(`Unknown tool: ${brief(name)}`)
  const input = objectParam(params, 'arguments')
  if (exchange.repeatsArguments && exchange.headers && tool.paramHeaders.length > 0)
    checkParamHeaders(tool.paramHeaders, input, exchange.headers)
  const id = surface.newId()
  const binding = { method: 'tools/call', name, input }
  return whenDone(
    govern(surface, { id, entry: tool.entry, binding, params }, exchange),
    (outcome) =>
      outcome.kind === 'asking'
        ? toInputRequired(surface, outcome, binding, exchange)
        : toResult(outcome, { id, hasOutputSchema: tool.entry.capability.output !== undefined }),
  )
}

async function readResource(surface: Surface, params: Params, exchange: Exchange): Promise<Result> {
  const uri = stringParam(params, 'uri')
  const match = surface.projection.findView(uri)
  if (!match) throw invalidParams(`Resource not found: ${brief(uri)}`, { uri: brief(uri) })
  const { entry, variables } = match
  const view = entry.capability
  const binding = { method: 'resources/read', name: uri, input: variables }
  const outcome = await governOrThrow(surface, { entry, binding, params }, exchange)
  return outcome.kind === 'asking'
    ? toInputRequired(surface, outcome, binding, exchange)
    : { contents: toContents(outcome, view, uri), ttlMs: 0, cacheScope: 'private' }
}

async function getPrompt(surface: Surface, params: Params, exchange: Exchange): Promise<Result> {
  const name = stringParam(params, 'name')
  const entry = surface.projection.snapshot.prompts.get(name)
  if (!entry) throw invalidParams(`Unknown prompt: ${brief(name)}`)
  const prompt = entry.capability
  const binding = { method: 'prompts/get', name, input: objectParam(params, 'arguments') }
  const outcome = await governOrThrow(surface, { entry, binding, params }, exchange)
  return outcome.kind === 'asking'
    ? toInputRequired(surface, outcome, binding, exchange)
    : { description: prompt.description, messages: (outcome.data ?? []) as Message[] }
}

/** The protocol's limit. */
const maxCompletions = 100

async function complete(surface: Surface, params: Params, exchange: Exchange): Promise<Result> {
  const { completion, name, fingerprint } = findCompletion(surface, objectParam(params, 'ref'))
  const argument = objectParam(params, 'argument')
  const input = {
    argument: stringParam(argument, 'name'),
    value: stringParam(argument, 'value'),
    others: objectParam(objectParam(params, 'context'), 'arguments'),
  }
  if (!completion) return { completion: { values: [], total: 0, hasMore: false } }
  const binding = { method: 'completion/complete', name, input }
  const entry = { capability: completion, fingerprint }
  const outcome = await governOrThrow(surface, { entry, binding, params }, exchange)
  const values = outcome.kind === 'done' ? (outcome.data as string[]) : []
  return {
    completion: {
      values: values.slice(0, maxCompletions),
      total: values.length,
      hasMore: values.length > maxCompletions,
    },
  }
}

function findCompletion(surface: Surface, ref: Params) {
  const { snapshot } = surface.projection
  if (ref.type === 'ref/prompt') {
    const name = stringParam(ref, 'name')
    const prompt = snapshot.prompts.get(name)
    if (!prompt) throw invalidParams(`Unknown prompt: ${brief(name)}`)
    return {
      name,
      completion: prompt.capability.completion,
      fingerprint: prompt.fingerprint,
    }
  }
  if (ref.type !== 'ref/resource')
    throw invalidParams('ref.type must be "ref/prompt" or "ref/resource"')
  const uri = stringParam(ref, 'uri')
  const view =
    snapshot.templates.find(({ capability }) => capability.uri === uri) ?? snapshot.views.get(uri)
  if (!view) throw invalidParams(`Resource not found: ${brief(uri)}`, { uri: brief(uri) })
  return { name: uri, completion: view.capability.completion, fingerprint: view.fingerprint }
}

type RequestBinding = Omit<StateBinding, 'subject'>

interface CallRequest {
  readonly id: string
  readonly entry: Entry<Capability>
  readonly binding: RequestBinding
  readonly params: Params
}

/** The single entry to the pipeline for everything that a client can request. */
function govern(surface: Surface, request: CallRequest, exchange: Exchange): Promise<Outcome> {
  const { requestState, caller } = exchange
  const { subject } = caller
  if (requestState === undefined)
    return surface.govern(toCall(surface, request, exchange, undefined))
  return surface.states
    .open(requestState, { subject, ...request.binding })
    .then((state) => surface.govern(toCall(surface, request, exchange, state)))
}

export function toCall(
  surface: Surface,
  { id, entry, binding, params }: CallRequest,
  exchange: Exchange,
  state: Json | undefined,
): Call {
  const { caller, cancellation, listener, inputResponses, headers } = exchange
  const meta = isPlainObject(params._meta) ? params._meta : noParams
  return createCall({
    id,
    capability: entry.capability,
    address: toCallAddress(surface.mount, entry.capability),
    fingerprint: entry.fingerprint,
    caller,
    input: binding.input,
    cancellation,
    answers: inputResponses === undefined ? undefined : toAnswers(inputResponses),
    state,
    canAsk: toAskable(exchange.client),
    idempotencyKey: optionalString(meta, requestMeta.idempotencyKey),
    transportKey: headers?.['idempotency-key'],
    expectedFingerprint: optionalString(meta, requestMeta.expectFingerprint),
    listing: surface.listingFor(caller),
    listener,
    traceparent: toTraceparent(meta, headers),
    run: surface.run,
  })
}

/** W3C Trace Context. A malformed value is dropped: it is no reason to refuse a call. */
function toTraceparent(meta: Params, headers: Exchange['headers']): string | undefined {
  const value = meta[requestMeta.traceparent] ?? headers?.traceparent
  return typeof value === 'string' && /^[0-9a-f]{2}(-[0-9a-f]{2,32}){3}$/.test(value)
    ? value
    : undefined
}

async function governOrThrow(
  surface: Surface,
  request: Omit<CallRequest, 'id'>,
  exchange: Exchange,
): Promise<Done | Asking> {
  const id = surface.newId()
  const outcome: Done | Asking | Failed = await govern(surface, { id, ...request }, exchange)
  if (outcome.kind === 'failed') throw toProtocolError(outcome.failure, id)
  return outcome
}

async function toInputRequired(
  surface: Surface,
  asking: Asking,
  binding: RequestBinding,
  { caller, client }: Exchange,
): Promise<Result> {
  const { questions, state } = asking
  const inputRequests = toInputRequests(questions, client)
  return {
    resultType: 'input_required',
    ...(Object.keys(inputRequests).length > 0 && { inputRequests }),
    requestState: await surface.states.seal(state, { subject: caller.subject, ...binding }),
  }
}

function stringParam(params: Params, key: string): string {
  const value = params[key]
  if (typeof value !== 'string') throw invalidParams(`${key} must be a string`)
  return value
}

function optionalString(params: Params, key: string): string | undefined {
  const value = params[key]
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw invalidParams(`${key} must be a string`)
  return value
}

function objectParam(params: Params, key: string): Params {
  const value = params[key]
  if (value === undefined) return noParams
  if (!isPlainObject(value)) throw invalidParams(`${key} must be an object`)
  return value
}
