import { toLastValue } from '../results/last-value.ts'
import { fromModelOutput } from '../results/model-output.ts'
import { withThrownErrors } from '../results/thrown-errors.ts'
import type { ToolContext } from '../tool-definition.ts'
import type { Dialect, Execute, Shape } from './dialect.ts'
import { findFunction } from './function-tool.ts'
import { noFunction } from './no-function.ts'
import {
  addedKeys,
  findMethod,
  isShape,
  isText,
  type Method,
  noArguments,
  readAddedFields,
} from './shape.ts'
import { toSchema } from './wrapped-schema.ts'

/** `tool()` and `dynamicTool()` of the Vercel AI SDK: `inputSchema` since version 5, `parameters` in version 4. */
export const aiSdk: Dialect = {
  name: 'Vercel AI SDK',
  toCategoryLine: (category) => `metadata: { category: '${category}' }`,
  recognise: (value) =>
    isProviderTool(value) ||
    ((isShape(value.inputSchema) || isShape(value.parameters)) &&
      (typeof value.execute === 'function' ||
        (isText(value.description) && !('name' in value) && !findFunction(value)))),
  toToolDefinition(value, { key, findHandler }) {
    const name = isText(value.name) ? value.name : key
    const own = findMethod(value, 'execute')
    const execute = own ? toExecute(value, own) : isText(name) ? findHandler(name) : undefined
    if (isProviderTool(value) && !execute)
      return {
        leftOut: `it is run by the provider of the model (${value.id}), so there is nothing to call`,
        code: 'tool_left_out',
        severity: 'warning',
      }
    if (!execute) return noFunction(name)
    const schemaField = value.inputSchema === undefined ? 'parameters' : 'inputSchema'
    return {
      definition: {
        ...readAddedFields(value),
        name,
        title: value.title,
        description: value.description,
        schema: toSchema(value[schemaField]) ?? noArguments,
        outputSchema: toSchema(value.outputSchema),
        execute,
      },
      fields: { schema: [schemaField] },
      reads,
    }
  },
}

const reads = [
  ...addedKeys,
  'name',
  'title',
  'description',
  'inputSchema',
  'parameters',
  'outputSchema',
  'execute',
  'toModelOutput',
  // Meant for the provider of the model, or for streams of its output.
  'type',
  'id',
  'args',
  'strict',
  'inputExamples',
  'providerOptions',
  'onInputStart',
  'onInputDelta',
  'onInputAvailable',
]

const isProviderTool = (value: Shape): boolean =>
  (value.type === 'provider' || value.type === 'provider-defined') && isText(value.id)

/** The SDK gives the message of a thrown error to the model. */
function toExecute(value: Shape, execute: Method): Execute {
  const toModelOutput = findMethod(value, 'toModelOutput')
  return withThrownErrors(
    (input, context) => toLastValue(execute(input, toOptions(context)), context),
    async (output, input, { callId: toolCallId }) => {
      if (!toModelOutput) return output
      const modelOutput = await toModelOutput({ toolCallId, input, output })
      // The model is meant to see only this: the output itself is sent when its schema promises it.
      return fromModelOutput(modelOutput, value.outputSchema === undefined ? undefined : output)
    },
  )
}

/** The second argument of the SDK's `execute`. There is no conversation here, so no messages. */
const toOptions = (context: ToolContext) => ({
  toolCallId: context.callId,
  messages: [],
  get abortSignal() {
    return context.signal
  },
})
