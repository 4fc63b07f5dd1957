import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Dialect, DialectContext, Execute, LeftOut, Shape, Translation } from './dialect.ts'
import { noFunction } from './no-function.ts'
import { toParsedExecute } from './parsed-input.ts'
import {
  addedKeys,
  findExecute,
  findMethod,
  isObject,
  isSchema,
  isShape,
  isText,
  noArguments,
  readAddedFields,
} from './shape.ts'

/** `{ type: 'function', function: { name, description, parameters } }`, also from `zodFunction()` and for `runTools()`. */
export const openAiChat: Dialect = {
  name: 'OpenAI, Chat Completions',
  recognise: ({ type, function: definition }) =>
    isObject(definition) &&
    (type === 'function' || (type === undefined && isText(definition.name))) &&
    (isText(definition.name) || isSchema(definition.parameters)),
  toToolDefinition: (value, context) => {
    const { function: definition } = value
    return translate(value, definition as Shape, context, 'function')
  },
}

/** `{ type: 'function', name, description, parameters }`, also from `zodResponsesFunction()`, and the old `functions`. */
export const openAiResponses: Dialect = {
  name: 'OpenAI, Responses',
  recognise: ({ type, name, parameters, description }) =>
    isText(name) &&
    ((type === 'function' && (parameters === undefined || isShape(parameters))) ||
      (type === undefined &&
        isPlainObject(parameters) &&
        parameters.type === 'object' &&
        (description === undefined || isText(description)))),
  toToolDefinition: (value, context) => translate(value, value, context),
}

/** Keys under which authors put the function beside the definition. */
const functionKeys = [
  '$callback',
  'execute',
  'handler',
  'run',
  'func',
  'fn',
  'call',
  'callback',
  'implementation',
  'functionImpl',
]

function translate(
  value: Shape,
  definition: Shape,
  { key, findHandler }: DialectContext,
  nested?: string,
): Translation | LeftOut {
  const { name = key, description, parameters } = definition
  const beside =
    findExecute(value, ...functionKeys) ?? findExecute(definition, 'function', ...functionKeys)
  const execute = beside ?? (isText(name) ? findHandler(name) : undefined)
  if (!execute) return noFunction(name)
  const path = (field: string) => (nested === undefined ? [field] : [nested, field])
  return {
    definition: {
      ...readAddedFields(definition, value),
      name,
      description,
      schema: parameters ?? noArguments,
      execute: withParser(value, definition, execute),
    },
    fields: {
      name: path('name'),
      description: path('description'),
      schema: path('parameters'),
    },
    // `strict` is about how the model is decoded, and `parse` is used.
    reads: [
      ...addedKeys,
      ...functionKeys,
      'type',
      'function',
      'name',
      'description',
      'parameters',
      'strict',
      'parse',
    ],
  }
}

/** `zodFunction()` and `runTools()` have a function that parses the arguments, which are JSON there. */
function withParser(value: Shape, definition: Shape, execute: Execute): Execute {
  const parse = findMethod(value, '$parseRaw') ?? findMethod(definition, 'parse')
  return parse ? toParsedExecute((input) => parse(JSON.stringify(input)), execute) : execute
}
