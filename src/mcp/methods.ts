import type { Result } from '@modelcontextprotocol/server'
import { type Call, createCall } from '../capability/call.ts'
import type { Capability } from '../capability/capability.ts'
import type { Message } from '../capability/content.ts'
import { isPlainObject, type Json } from '../capability/json.ts'
import type { Asking, Done, Failed, Outcome } from '../capability/outcome.ts'
import type { Entry } from '../catalog/snapshot.ts'
import type { Exchange } from './exchange.ts'
import { checkParamHeaders } from './modern/param-headers.ts'
import { toAnswers, toAskable, toInputRequests } from './questions.ts'
import type { StateBinding } from './request-state.ts'
import { brief, invalidParams } from './rpc-error.ts'
import { type Surface, toCallAddress, toServerCapabilities } from './surface.ts'
import { toContents } from './to-resource.ts'
import { toProtocolError, toResult } from './to-result.ts'
import { modernRevision, requestMeta } from './wire-names.ts'

export type Params = Readonly<Record<string, unknown>>

/** From a request and its surroundings to a result. Throws `RpcError` and nothing else. */
export type Method = (
  surface: Surface,
  params: Params,
  exchange: Exchange,
) => Result | Promise<Result>

/** Every request a client can make, in both eras and on every transport. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['server/discover', discover],
  ['tools/list', (surface, params, { caller }) => page(params, surface.lists(caller).tools)],
  ['tools/call', callTool],
  [
    'resources/list',
    (surface, params, { caller }) => page(params, surface.lists(caller).resources),
  ],
  [
    'resources/templates/list',
    (surface, params, { caller }) => page(params, surface.lists(caller).templates),
  ],
  ['resources/read', readResource],
  ['prompts/list', (surface, params, { caller }) => page(params, surface.lists(caller).prompts)],
  ['prompts/get', getPrompt],
  ['completion/complete', complete],
])

/** By method: the parameter that says what it is about, which a modern client repeats in a header. */
export const subjects: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** What a request is about, where there is such a thing. */
export function findSubject(
  { projection }: Surface,
  method: string,
  params: Params,
): Capability | undefined {
  const subject = subjects.get(method)
  const name = subject === undefined ? undefined : params[subject]
  if (typeof name !== 'string') return undefined
  const entry =
    method === 'tools/call'
      ? projection.findTool(name)?.entry
      : method === 'prompts/get'
        ? projection.snapshot.prompts.get(name)
        : projection.findView(name)?.entry
  return entry?.capability
}

function discover(surface: Surface): Result {
  return {
    supportedVersions: [modernRevision],
    capabilities: toServerCapabilities(surface),
    ...(surface.instructions !== undefined && { instructions: surface.instructions }),
    ttlMs: 60_000,
    cacheScope: 'public',
  }
}

/** There is only one page, so no cursor was ever given out. */
function page<T>({ cursor }: Params, result: T): T {
  if (cursor !== undefined) throw invalidParams('Unknown cursor')
  return result
}

async function callTool(surface: Surface, params: Params, exchange: Exchange): Promise<Result> {
  const name = stringParam(params, 'name')
  const found = surface.projection.findTool(name)
  if (!found) throw invalidParams(`Unknown tool: ${brief(name)}`)
  const input = objectParam(params, 'arguments')
  if (exchange.headers && found.paramHeaders.length > 0)
    checkParamHeaders(found.paramHeaders, input, exchange.headers)
  const id = surface.newId()
  const binding = { method: 'tools/call', name, input }
  const outcome = await run(surface, { id, entry: found.entry, binding, params }, exchange)
  return outcome.kind === 'asking'
    ? toInputRequired(surface, outcome, binding, exchange)
    : toResult(outcome, id)
}

async function readResource(surface: Surface, params: Params, exchange: Exchange): Promise<Result> {
  const uri = stringParam(params, 'uri')
  const found = surface.projection.findView(uri)
  if (!found) throw invalidParams(`Resource not found: ${brief(uri)}`, { uri: brief(uri) })
  const { entry, variables } = found
  const view = entry.capability
  const binding = { method: 'resources/read', name: uri, input: variables }
  const outcome = await runOrThrow(surface, { entry, binding, params }, exchange)
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
  const outcome = await runOrThrow(surface, { entry, binding, params }, exchange)
  return outcome.kind === 'asking'
    ? toInputRequired(surface, outcome, binding, exchange)
    : { description: prompt.description, messages: (outcome.data ?? []) as Message[] }
}

/** The protocol allows no more. */
const mostCompletions = 100

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
  const outcome = await runOrThrow(surface, { entry, binding, params }, exchange)
  const values = outcome.kind === 'done' ? (outcome.data as string[]) : []
  return {
    completion: {
      values: values.slice(0, mostCompletions),
      total: values.length,
      hasMore: values.length > mostCompletions,
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

type Bound = Omit<StateBinding, 'subject'>

interface Run {
  readonly id: string
  readonly entry: Entry<Capability>
  readonly binding: Bound
  readonly params: Params
}

/** The one way in: everything a client can have done passes here into the pipeline. */
function run(surface: Surface, run: Run, exchange: Exchange): Promise<Outcome> {
  const { requestState, caller } = exchange
  const go = (state: Json | undefined) => surface.govern(toCall(surface, run, exchange, state))
  if (requestState === undefined) return go(undefined)
  return surface.states.open(requestState, { subject: caller.subject, ...run.binding }).then(go)
}

export function toCall(
  surface: Surface,
  { id, entry, binding, params }: Run,
  exchange: Exchange,
  state: Json | undefined,
): Call {
  const { caller, cancellation, listener, inputResponses, headers } = exchange
  const meta = isPlainObject(params._meta) ? params._meta : nothing
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
    key: optionalString(meta, requestMeta.idempotencyKey),
    transportKey: headers?.['idempotency-key'],
    expects: optionalString(meta, requestMeta.expectFingerprint),
    reach: surface.reachOf(caller),
    listener,
    traceparent: toTraceparent(meta, headers),
    run: surface.run,
  })
}

/** Anything else is not worth passing on, and not worth refusing a call for. */
function toTraceparent(meta: Params, headers: Exchange['headers']): string | undefined {
  const said = meta[requestMeta.traceparent] ?? headers?.traceparent
  return typeof said === 'string' && /^[0-9a-f]{2}(-[0-9a-f]{2,32}){3}$/.test(said)
    ? said
    : undefined
}

async function runOrThrow(
  surface: Surface,
  parts: Omit<Run, 'id'>,
  exchange: Exchange,
): Promise<Done | Asking> {
  const id = surface.newId()
  const outcome: Done | Asking | Failed = await run(surface, { id, ...parts }, exchange)
  if (outcome.kind === 'failed') throw toProtocolError(outcome.failure, id)
  return outcome
}

async function toInputRequired(
  surface: Surface,
  asking: Asking,
  binding: Bound,
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

const nothing: Params = Object.freeze({})

function objectParam(params: Params, key: string): Params {
  const value = params[key]
  if (value === undefined) return nothing
  if (!isPlainObject(value)) throw invalidParams(`${key} must be an object`)
  return value
}
