import { isFault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { readContract } from '../../../contracts/read-contract.ts'
import type { Completer } from '../completion.ts'
import type { PromptDefinition } from '../prompt-definition.ts'
import { toolError } from '../reply.ts'
import type { ViewDefinition } from '../view-definition.ts'
import type { Shape } from './dialect.ts'
import { toHandlerContext } from './mcp-context.ts'
import { scopesUnknown, toPermissions } from './scope-challenge.ts'
import { findMethod, isObject, isText } from './shape.ts'

/** An `McpServer` of the MCP SDK, version 1 or 2. It is only read: nothing connects to it. */
export const isMcpServer = (value: Shape): boolean =>
  typeof value.registerTool === 'function' && isObject(value._registeredTools)

/** What is registered with a server, by the path in it. */
export interface Registered {
  /** The server's own object, by which it is recognised. */
  readonly source: Shape
  readonly path: readonly string[]
  /** As `mcpSdk` reads a tool, and our own definition of a prompt or view. */
  readonly value: Shape
}

/** Tools as `mcpSdk` reads them, and our own definitions of prompts and views. */
export const listRegistered = (server: Shape): readonly (Registered | LeftOutOfServer)[] =>
  Object.entries(kinds).flatMap(([field, toValue]) =>
    Object.entries(isObject(server[field]) ? server[field] : {}).flatMap(([key, source]) =>
      isObject(source) ? [readRegistered(source, [field, key], toValue(key, source))] : [],
    ),
  )

function readRegistered(
  source: Shape,
  path: readonly string[],
  value: Shape | undefined,
): Registered | LeftOutOfServer {
  if (source.enabled === false)
    return { source, path, leftOut: 'it is disabled in the server', severity: 'info' }
  if (!value) return { source, path, leftOut: scopesUnknown, severity: 'error' }
  return { source, path, value }
}

/** Nothing is made of a prompt or view whose scopes are not known. */
const kinds: Readonly<Record<string, (key: string, registered: Shape) => Shape | undefined>> = {
  _registeredTools: (name, registered) => ({ ...registered, name }),
  _registeredPrompts: (name, registered) => withPermissions(registered, toPrompt(name, registered)),
  _registeredResources: (uri, registered) => withPermissions(registered, toView(uri, registered)),
  _registeredResourceTemplates: (key, registered) =>
    withPermissions(registered, toTemplateView(key, registered)),
}

/** What is registered and not served, with the reason. */
export interface LeftOutOfServer extends Omit<Registered, 'value'> {
  readonly leftOut: string
  readonly severity: 'error' | 'info'
}

function withPermissions(
  { scopeChallenge, permissions: declared }: Shape,
  made: Shape,
): Shape | undefined {
  const challenges = scopeChallenge === undefined || scopeChallenge === null ? [] : [scopeChallenge]
  const permissions = toPermissions(challenges, declared)
  return permissions && { ...made, permissions }
}

function toPrompt(name: string, registered: Shape): Shape & PromptDefinition {
  const { title, description, argsSchema } = registered
  const reading = argsSchema === undefined ? undefined : readContract(argsSchema, 'input')
  const contract = reading && !isFault(reading) ? reading.contract : undefined
  const render = toRender(registered, argsSchema !== undefined)
  return {
    name,
    ...(isText(title) && { title }),
    description: isText(description) ? description : name,
    arguments: toArguments(contract?.schema),
    render: async (input, context) => {
      const parsed = contract ? await contract.parse(input) : { ok: true as const, value: input }
      if (parsed.ok) return toMessages(await render(input, parsed.value, toHandlerContext(context)))
      const reasons = parsed.issues.map(({ pointer, message }) => `${pointer} ${message}`)
      return toolError(`The arguments are invalid: ${reasons.join('; ')}`)
    },
  }
}

/** Version 2 keeps a handler that parses the arguments itself, version 1 the author's callback. */
function toRender(registered: Shape, takesInput: boolean) {
  const handler = findMethod(registered, 'handler')
  const callback = findMethod(registered, 'callback')
  return (input: unknown, parsed: unknown, extra: object): unknown => {
    if (handler) return handler(input, extra)
    return takesInput ? callback?.(parsed, extra) : callback?.(extra)
  }
}

function toArguments(schema: JsonObject | undefined): NonNullable<PromptDefinition['arguments']> {
  const { properties, required } = schema ?? {}
  const names = isObject(properties) ? Object.entries(properties) : []
  return Object.fromEntries(
    names.map(([name, property]) => [
      name,
      {
        required: Array.isArray(required) && required.includes(name),
        ...(isObject(property) &&
          isText(property.description) && { description: property.description }),
      },
    ]),
  )
}

const toMessages = (result: unknown) =>
  isObject(result) && Array.isArray(result.messages) ? result.messages : []

function toView(uri: string, registered: Shape): Shape & ViewDefinition {
  const read = findMethod(registered, 'readCallback')
  return {
    ...toViewFields(registered),
    uri,
    read: async (_, context) => toDocuments(await read?.(new URL(uri), toHandlerContext(context))),
  }
}

function toTemplateView(key: string, registered: Shape): Shape & ViewDefinition {
  const read = findMethod(registered, 'readCallback')
  const template = isObject(registered.resourceTemplate) ? registered.resourceTemplate : {}
  const uriTemplate = isObject(template.uriTemplate) ? template.uriTemplate : {}
  const expand = findMethod(uriTemplate, 'expand')
  const uri = String(uriTemplate)
  return {
    ...toViewFields({ ...registered, name: registered.name ?? key }),
    uri,
    complete: toCompleters(uri, findMethod(template, 'completeCallback')),
    read: async (variables, context) => {
      const url = new URL(String(expand?.(variables)))
      return toDocuments(await read?.(url, variables, toHandlerContext(context)))
    },
  }
}

function toCompleters(
  uri: string,
  findCompleter: ((...values: unknown[]) => unknown) | undefined,
): Readonly<Record<string, Completer>> {
  const names = [...uri.matchAll(/\{[+#./;?&]?([^}*]+)\*?\}/g)].flatMap(([, list = '']) =>
    list.split(','),
  )
  return Object.fromEntries(
    names.flatMap((name) => {
      const complete = findCompleter?.(name)
      if (typeof complete !== 'function') return []
      const completer: Completer = (value, others) => complete(value, { arguments: others })
      return [[name, completer]]
    }),
  )
}

function toViewFields({ name, title, metadata }: Shape) {
  const { description, mimeType } = isObject(metadata) ? metadata : {}
  return {
    name: String(name),
    ...(isText(title) && { title }),
    description: isText(description) ? description : isText(title) ? title : String(name),
    ...(isText(mimeType) && { mimeType }),
  }
}

const toDocuments = (result: unknown): unknown =>
  isObject(result) && Array.isArray(result.contents) ? result.contents : result
