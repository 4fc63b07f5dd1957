import type { ToolContext } from '../tool-definition.ts'
import type { Dialect, Execute } from './dialect.ts'
import { fromParameterMap, isParameterMap } from './parameter-map.ts'
import { addedKeys, findMethod, isObject, isText, type Method, readAddedFields } from './shape.ts'

/** agent-tool-forge: our own fields with a flat map of parameters, `context.abortSignal` and `mcpRouting`. */
export const agentToolForge: Dialect = {
  name: 'agent-tool-forge',
  recognise: ({ name, schema, mcpRouting, execute }) =>
    isText(name) &&
    (isObject(mcpRouting) ||
      (typeof execute === 'function' && isParameterMap(schema) && Object.keys(schema).length > 0)),
  toToolDefinition(value, { findHandler }) {
    const { name, schema } = value
    const own = findMethod(value, 'execute')
    const execute = own ? toExecute(own) : findHandler(String(name))
    if (!execute)
      return {
        leftOut: `it has no execute, only mcpRouting (${toRoute(value.mcpRouting)}), whose base URL and credentials are not in this file. Write the call: execute: async (input, { signal }) => (await fetch('https://…', { signal })).json(), or describe the endpoint with OpenAPI and add it as a source`,
        code: 'function_missing',
        severity: 'error',
      }
    return {
      definition: {
        ...readAddedFields(value),
        name,
        title: value.title,
        description: value.description,
        schema: isParameterMap(schema) ? fromParameterMap(schema) : schema,
        outputSchema: value.outputSchema,
        execute,
      },
      reads,
    }
  },
}

const reads = [
  ...addedKeys,
  'name',
  'title',
  'description',
  'schema',
  'outputSchema',
  'execute',
  'mcpRouting',
  // For evals and the routing of the forge.
  'triggerPhrases',
  'authType',
]

const toRoute = (routing: unknown): string =>
  isObject(routing) ? `${routing.method ?? 'GET'} ${routing.endpoint ?? ''}` : ''

/** `auth` and `client` are absent: no token of the caller is passed on, and there is no API client. */
const toExecute =
  (execute: Method): Execute =>
  (input, context) =>
    execute(input, toForgeContext(context))

function toForgeContext(context: ToolContext) {
  return {
    userId: context.caller.subject,
    get abortSignal() {
      return context.signal
    },
    get signal() {
      return context.signal
    },
  }
}
