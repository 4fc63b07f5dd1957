import { fromMcpResult } from '../results/mcp-result.ts'
import { withThrownErrors } from '../results/thrown-errors.ts'
import type { ToolCategory } from '../tool-definition.ts'
import type { Dialect, Execute, Shape } from './dialect.ts'
import { toHandlerContext } from './mcp-context.ts'
import { noFunction } from './no-function.ts'
import {
  addedKeys,
  findMethod,
  isObject,
  isSchema,
  isShape,
  isText,
  type Method,
  noArguments,
  readAddedFields,
} from './shape.ts'

/**
 * What `registerTool` of the MCP SDK takes: `{ name, …config, handler }`, `{ name, config, handler }`, and
 * `[name, config, handler]`, which `findTools` turns into the first. Also entries of a `tools/list` answer.
 */
export const mcpSdk: Dialect = {
  name: 'MCP SDK',
  toCategoryLine: (category) => `annotations: { ${hintsOf[category]} }`,
  recognise(value) {
    const config = toConfig(value)
    const hasOtherSchema = otherSchemaFields.some((field) => field in config || field in value)
    const hasHandler = findHandlerOf(value) !== undefined
    return (
      (isText(value.name) || (value.name === undefined && hasHandler)) &&
      (isShape(config.inputSchema) ||
        (!hasOtherSchema &&
          (isObject(config.annotations) ||
            'outputSchema' in config ||
            (hasHandler && 'config' in value)))) &&
      typeof value.execute !== 'function' &&
      (hasHandler || isText(config.description) || isSchema(config.inputSchema))
    )
  },
  toToolDefinition(value, { key, findHandler }) {
    const name = value.name ?? key
    const config = toConfig(value)
    const { annotations, inputSchema } = config
    const own = findHandlerOf(value)
    const exported = own ? undefined : findHandler(String(name))
    if (isObject(value.handler) && 'createTask' in value.handler)
      return {
        leftOut: 'it is a task of the MCP SDK, which is not supported',
        code: 'tool_left_out',
        severity: 'warning',
      }
    // Without a description it can be something else that has a schema.
    if (!own && !exported) return noFunction(name, isText(config.description) ? 'error' : 'warning')
    const path = (field: string) => (config === value ? [field] : ['config', field])
    return {
      definition: {
        ...readAddedFields(config, value),
        name,
        title: config.title ?? (isObject(annotations) ? annotations.title : undefined),
        description: config.description,
        schema: inputSchema ?? noArguments,
        outputSchema: config.outputSchema,
        execute: own ? toExecute(own, inputSchema !== undefined) : exported,
      },
      fields: {
        description: path('description'),
        schema: path('inputSchema'),
        outputSchema: path('outputSchema'),
        effects: path('annotations'),
      },
      reads,
    }
  },
}

const hintsOf: Readonly<Record<ToolCategory, string>> = {
  read: 'readOnlyHint: true',
  analysis: 'readOnlyHint: true, openWorldHint: false',
  write: 'readOnlyHint: false, destructiveHint: false',
  side_effect: 'readOnlyHint: false, destructiveHint: false',
  delete: 'readOnlyHint: false, destructiveHint: true',
}

/** Where other kinds of tools have their schema, which must not be lost because of annotations. */
const otherSchemaFields = ['parameters', 'schema', 'input_schema', 'argsSchema', 'args', 'input']

const handlerKeys = ['handler', 'callback', 'cb']

const reads = [
  ...addedKeys,
  ...handlerKeys,
  'name',
  'config',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  // Of registered tools.
  'executor',
  'enable',
  'disable',
  'remove',
  'update',
  'execution',
  'icons',
  'outputSchemaJson',
  '_meta',
]

const toConfig = (value: Shape): Shape => (isObject(value.config) ? value.config : value)

const findHandlerOf = (value: Shape): Method | undefined => findMethod(value, ...handlerKeys)

/** The SDK gives the message of a thrown error to the model. A handler without arguments gets only the context. */
const toExecute = (handler: Method, takesInput: boolean): Execute =>
  withThrownErrors((input, context) => {
    const extra = toHandlerContext(context)
    return takesInput ? handler(input, extra) : handler(extra)
  }, fromMcpResult)
