import { content, toolError } from '../reply.ts'
import { fromMessageContent } from '../results/message-content.ts'
import { withThrownErrors } from '../results/thrown-errors.ts'
import type { ToolContext } from '../tool-definition.ts'
import type { Dialect, Execute, Remark, Shape } from './dialect.ts'
import { addedKeys, findMethod, isObject, isText, type Method, readAddedFields } from './shape.ts'

/** `tool()`, `DynamicStructuredTool` and instances of subclasses of `StructuredTool` and `Tool`. */
export const langChain: Dialect = {
  name: 'LangChain',
  toCategoryLine: (category) => `metadata: { category: '${category}' }`,
  recognise: ({ name, invoke, lc_namespace: namespace, schema }) =>
    isText(name) &&
    typeof invoke === 'function' &&
    Array.isArray(namespace) &&
    schema !== undefined,
  toToolDefinition: (value) => ({
    definition: {
      ...readAddedFields(value),
      name: value.name,
      description: value.description,
      schema: takesText(value.schema) ? textInput : value.schema,
      execute: toExecute(value.name, findMethod(value, 'invoke')),
    },
    reads: [...addedKeys, ...Object.keys(value)],
    remarks: value.responseFormat === 'content_and_artifact' ? [artifactNotSent] : [],
  }),
}

/** LangChain defines artifacts as data that the model does not see, and clients show it structured content. */
const artifactNotSent: Remark = {
  code: 'artifact_not_sent',
  severity: 'info',
  message: 'its responseFormat is content_and_artifact: the content is sent, the artifact is not.',
  field: 'responseFormat',
  alike: 'content_and_artifact',
}

/** `Tool` and `DynamicTool` take one string: their schema is a transform of `{ input }`. */
const textInput = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
}

function takesText(schema: unknown): boolean {
  if (!isObject(schema) || !isObject(schema._def)) return false
  const { typeName, type, schema: inner, in: pipeIn } = schema._def
  const source = typeName === 'ZodEffects' ? inner : type === 'pipe' ? pipeIn : undefined
  if (!isObject(source) || !isObject(source.shape)) return false
  const fields = Object.keys(source.shape)
  return fields.length === 1 && fields[0] === 'input'
}

/** LangChain parses the arguments itself: it gets them as the client sent them. Its agents read thrown errors. */
const toExecute = (name: unknown, invoke: Method | undefined): Execute =>
  withThrownErrors((_, context) => {
    const { rawInput = {}, callId: id } = context
    return invoke?.({ type: 'tool_call', name, args: rawInput, id }, toConfig(context))
  }, toResult)

const toConfig = ({ signal, callId }: ToolContext) => ({ signal, toolCall: { id: callId } })

function toResult(result: unknown): unknown {
  if (!isToolMessage(result)) return content(fromMessageContent(result))
  const blocks = fromMessageContent(result.content)
  if (result.status !== 'error') return content(blocks)
  return toolError(typeof result.content === 'string' ? result.content : 'The tool failed.', blocks)
}

const isToolMessage = (value: unknown): value is Shape => isObject(value) && 'tool_call_id' in value
