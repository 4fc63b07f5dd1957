import { dropUndefined } from '../../../json/drop-undefined.ts'
import { anthropic } from './anthropic.ts'
import type { Dialect, ForeignDefinition, Shape } from './dialect.ts'
import { isLeftOut } from './dialect.ts'
import { functionTool } from './function-tool.ts'
import { mcpSdk } from './mcp-sdk.ts'
import { openAiChat, openAiResponses } from './openai.ts'
import { type AddedFields, addedKeys, findExecute, isObject, readAddedFields } from './shape.ts'

/** A definition and its function in one object: `{ definition, handler }`, `{ tool, execute }` and the like. */
export const definitionBesideFunction: Dialect = {
  name: 'definition beside its function',
  recognise(value) {
    const [field] = findInner(value) ?? []
    return field !== undefined && !isToolItself(value, field) && findFunction(value) !== undefined
  },
  toToolDefinition(value, context) {
    const [field, definition, dialect] = findInner(value) ?? []
    const execute = findFunction(value)
    if (!field || !definition || !dialect || !execute)
      throw new Error('The definition beside the function changed while it was read.')
    const inner = dialect.toToolDefinition(definition, { ...context, findHandler: () => execute })
    if (isLeftOut(inner)) return inner
    return {
      ...inner,
      definition: withAddedFields(inner.definition, readAddedFields(value)),
      fields: Object.fromEntries(
        ['name', 'description', 'schema'].map((own) => [
          own,
          [field, ...(inner.fields?.[own as 'name'] ?? [own])],
        ]),
      ),
      reads: [...addedKeys, ...functionFields, field],
    }
  },
}

const definitionFields = [
  'definition',
  'tool',
  'spec',
  'schema',
  'declaration',
  'config',
  'metadata',
]
const functionFields = [
  'handler',
  'execute',
  'run',
  'func',
  'fn',
  'call',
  'callback',
  'function',
  'implementation',
  'impl',
]
const dialects = [openAiChat, openAiResponses, anthropic, mcpSdk, functionTool]

/** Fields of a tool that contains its own definition: what is nested in it, such as metadata, is no other one. */
const ownFields = [
  'description',
  'parameters',
  'inputSchema',
  'input_schema',
  'schema',
  'argsSchema',
  'outputSchema',
  'input',
  'args',
  'mcpRouting',
]

const isToolItself = (value: Shape, nested: string): boolean =>
  ownFields.some((field) => field !== nested && value[field] !== undefined)

/** What the definition requires stays required, whatever is written beside it. */
const withAddedFields = (inner: ForeignDefinition, outer: AddedFields): ForeignDefinition =>
  dropUndefined({
    ...inner,
    ...outer,
    requiresConfirmation: inner.requiresConfirmation || outer.requiresConfirmation,
    annotations: [inner.annotations, outer.annotations].flat().filter(isObject),
    scopeChallenges: [inner.scopeChallenges, outer.scopeChallenges]
      .flat()
      .filter((one) => one !== undefined),
  })

const findFunction = (value: Shape) => findExecute(value, ...functionFields)

function findInner(value: Shape): readonly [string, Shape, Dialect] | undefined {
  for (const field of definitionFields) {
    const definition = value[field]
    if (!isObject(definition)) continue
    const dialect = dialects.find((one) => one.recognise(definition))
    if (dialect) return [field, definition, dialect]
  }
  return undefined
}
