import { content, toolError } from '../reply.ts'
import { fromMessageContent } from '../results/message-content.ts'
import type { Dialect, Execute, Shape } from './dialect.ts'
import { addedKeys, findMethod, isObject, isText, noArguments, readAddedFields } from './shape.ts'

/** `tool()` of the OpenAI Agents SDK: `invoke` takes the run context and the arguments as JSON. */
export const openAiAgents: Dialect = {
  name: 'OpenAI Agents SDK',
  recognise: ({ type, name, invoke }) =>
    type === 'function' && isText(name) && typeof invoke === 'function',
  toToolDefinition(value) {
    const { needsApproval, isEnabled } = value
    requireDecision({ needsApproval, isEnabled })
    if (isEnabled === false)
      return {
        leftOut: 'it is disabled: isEnabled is false',
        code: 'tool_left_out',
        severity: 'warning',
      }
    // Its function is asked in every call, and refuses those that nobody has approved.
    const decides = typeof needsApproval === 'function'
    return {
      definition: {
        timeout: value.timeoutMs,
        ...readAddedFields(decides ? { ...value, needsApproval: undefined } : value),
        name: value.name,
        description: value.description,
        schema: value.parameters ?? noArguments,
        outputSchema: value.outputSchema,
        execute: toExecute(value),
      },
      fields: { schema: ['parameters'], timeout: ['timeoutMs'] },
      reads,
    }
  },
}

/** What is neither a boolean nor a function would be ignored, and the tool would run without the approval. */
function requireDecision(fields: Shape): void {
  for (const [field, value] of Object.entries(fields))
    if (!['undefined', 'boolean', 'function'].includes(typeof value))
      throw new Error(`field ${field}: must be a boolean or a function.`)
}

const reads = [
  ...addedKeys,
  'type',
  'name',
  'description',
  'parameters',
  'outputSchema',
  'invoke',
  'isEnabled',
  'timeoutMs',
  // About the run of an agent, which there is none of here.
  'strict',
  'deferLoading',
  'providerData',
  'allowedCallers',
  'errorFunction',
  'timeoutBehavior',
  'timeoutErrorFunction',
  'inputGuardrails',
  'outputGuardrails',
  'customDataExtractor',
]

function toExecute(value: Shape): Execute {
  const [isEnabled, needsApproval, invoke] = ['isEnabled', 'needsApproval', 'invoke'].map((name) =>
    findMethod(value, name),
  )
  return async (_, context) => {
    const runContext = { context: {} }
    const { callId, rawInput = {}, approved } = context
    if (isEnabled && !(await isEnabled(runContext, undefined)))
      return toolError('The tool is disabled.')
    if (needsApproval && !approved && (await needsApproval(runContext, rawInput, callId)))
      return toolError(approvalNeeded)
    const details = { signal: context.signal, toolCall: { callId } }
    return toResult(await invoke?.(runContext, JSON.stringify(rawInput), details))
  }
}

const approvalNeeded =
  'This call needs an approval, and none can be asked for. The operator can require approvals of this tool with a rule of the policy.'

/** Images and files are objects with a `type` there: `{ type: 'image', image }`, `{ type: 'text', text }`. */
function toResult(result: unknown): unknown {
  const parts = Array.isArray(result) ? result : [result]
  if (parts.length === 0 || !parts.every(isPart)) return result
  return content(fromMessageContent(parts.map(toBlock)))
}

const isPart = (value: unknown): value is Shape =>
  isObject(value) &&
  ((value.type === 'text' && isText(value.text)) || (value.type === 'image' && 'image' in value))

const toBlock = (part: Shape): unknown => {
  if (part.type === 'text') return part
  const { image } = part
  return isObject(image) ? { ...image, type: 'image' } : { type: 'image', url: image }
}
