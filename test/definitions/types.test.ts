import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import {
  type AuditOptions,
  ask,
  content,
  definePrompt,
  defineTool,
  defineView,
  type HttpOptions,
  type MountOptions,
  type PolicyOptions,
  type RoutingOptions,
  type ToolResult,
  z,
} from '../../src/index.ts'
import type { ConfigInput } from '../../src/runtime/config/config-shape.ts'
import type { RoutingInput } from '../../src/sources/intents/router/routing-options.ts'

const fields = { name: 'a_tool', description: 'A tool.', category: 'read' } as const
const schema = z.object({ city: z.string(), days: z.number().default(1) })
const outputSchema = z.object({ temp: z.number(), sky: z.enum(['clear', 'cloudy']) })
const envelope = { tool: 'a_tool', fetchedAt: '2026-01-01T00:00:00Z' }

describe('defineTool', () => {
  test('the schema types the input of execute, after its defaults', () => {
    defineTool({
      ...fields,
      schema,
      execute: (input) => expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>(),
    })
    defineTool({
      ...fields,
      schema: { city: z.string() },
      execute: (input) => expectTypeOf(input.city).toEqualTypeOf<string>(),
    })
    defineTool({
      ...fields,
      schema: { type: 'object' },
      execute: (input) => expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>(),
    })
  })

  test('a result that fits outputSchema is accepted in every form', () => {
    const clear = { temp: 21, sky: 'clear' } as const
    defineTool({ ...fields, schema, outputSchema, execute: () => clear })
    defineTool({
      ...fields,
      schema,
      outputSchema,
      execute: async ({ city }) => ({ temp: city.length, sky: 'cloudy' }),
    })
    defineTool({
      ...fields,
      schema,
      outputSchema,
      execute: ({ days }, { answers }) => {
        if (!answers.sure) return ask({ sure: { kind: 'roots' } })
        if (days > 7) return { ...envelope, error: 'A forecast has at most seven days.' }
        if (days > 3) return content([{ type: 'text', text: 'Rain.' }], { temp: 1, sky: 'cloudy' })
        return { ...envelope, data: { temp: 21, sky: 'clear' }, cost: 2 }
      },
    })
    defineTool({
      ...fields,
      schema,
      outputSchema,
      execute: async (): Promise<ToolResult<{ temp: number; sky: 'clear' }> & { data: never }> => {
        throw new Error('never called')
      },
    })
  })

  test('a result that does not fit outputSchema does not compile', () => {
    // @ts-expect-error temp is a number
    defineTool({ ...fields, schema, outputSchema, execute: () => ({ temp: '21', sky: 'clear' }) })
    defineTool({
      ...fields,
      schema,
      outputSchema,
      // @ts-expect-error snow is not in the enum
      execute: ({ days }) => ({ temp: days, sky: 'snow' }),
    })
    // @ts-expect-error sky is missing
    defineTool({ ...fields, schema, outputSchema, execute: async () => ({ temp: 21 }) })
    defineTool({
      ...fields,
      schema,
      outputSchema,
      // @ts-expect-error data has the wrong form
      execute: ({ city }) => ({ ...envelope, data: { temp: city, sky: 'clear' } }),
    })
    defineTool({
      ...fields,
      schema,
      outputSchema,
      // @ts-expect-error neither data nor an error
      execute: () => envelope,
    })
  })

  test('any Standard Schema types the result; JSON Schema leaves it open', () => {
    const valibot = v.object({ temp: v.number() })
    const arkType = type({ temp: 'number' })
    defineTool({ ...fields, schema, outputSchema: valibot, execute: () => ({ temp: 21 }) })
    defineTool({ ...fields, schema, outputSchema: arkType, execute: () => ({ temp: 21 }) })
    // @ts-expect-error temp is a number
    defineTool({ ...fields, schema, outputSchema: valibot, execute: () => ({ temp: '21' }) })
    // @ts-expect-error temp is a number
    defineTool({ ...fields, schema, outputSchema: arkType, execute: () => ({ temp: '21' }) })
    defineTool({
      ...fields,
      schema,
      outputSchema: { type: 'object' },
      execute: () => ({ temp: '21' }),
    })
  })

  test('without outputSchema any result is accepted, and text receives its data', () => {
    defineTool({
      ...fields,
      schema,
      execute: async ({ city }) => ({ ...envelope, data: { city } }),
      text: (data) => {
        expectTypeOf(data).toEqualTypeOf<{ city: string }>()
        return data.city
      },
    })
  })

  test('with outputSchema text receives the data of execute', () => {
    defineTool({
      ...fields,
      schema,
      outputSchema: z.object({ temp: z.number() }),
      execute: ({ days }) => (days > 7 ? { ...envelope, error: 'Too many days.' } : { temp: 21 }),
      text: (data) => {
        expectTypeOf(data.temp).toEqualTypeOf<number>()
        return `${data.temp} °C`
      },
    })
  })
})

describe('definePrompt', () => {
  const fields = { name: 'a_prompt', description: 'A prompt.' }

  test('render receives the declared arguments; optional ones may be undefined', () => {
    definePrompt({
      ...fields,
      arguments: {
        topic: { required: true, complete: (value) => [value.toUpperCase()] },
        tone: { description: 'How it sounds.' },
        length: { required: false },
      },
      render: (input) => {
        expectTypeOf(input.topic).toEqualTypeOf<string>()
        expectTypeOf(input.tone).toEqualTypeOf<string | undefined>()
        expectTypeOf(input.length).toEqualTypeOf<string | undefined>()
        return input.topic
      },
    })
  })

  test('an undeclared argument does not compile', () => {
    definePrompt({
      ...fields,
      arguments: { topic: { required: true } },
      // @ts-expect-error subject is not an argument
      render: ({ subject }) => `${subject}`,
    })
    // @ts-expect-error there are no arguments
    definePrompt({ ...fields, render: ({ topic }) => `${topic}` })
  })
})

describe('defineView', () => {
  const fields = { name: 'a_view', description: 'A view.' }

  test('read receives the variables of the template', () => {
    defineView({
      ...fields,
      uri: 'lights://{room}/state{?format,unit}',
      complete: { room: (value) => [value] },
      read: (variables) =>
        expectTypeOf(variables).toEqualTypeOf<{
          readonly room: string
          readonly format: string
          readonly unit: string
        }>(),
    })
    defineView({
      ...fields,
      uri: 'files:///{+path}/{parts*}',
      read: ({ path, parts }) => {
        expectTypeOf(path).toEqualTypeOf<string>()
        expectTypeOf(parts).toEqualTypeOf<string | readonly string[]>()
      },
    })
  })

  test('an unknown variable does not compile', () => {
    // @ts-expect-error the variable is called room
    defineView({ ...fields, uri: 'lights://{room}', read: ({ lamp }) => lamp })
    defineView({
      ...fields,
      uri: 'lights://{room}',
      // @ts-expect-error the variable is called room
      complete: { lamp: () => [] },
      read: ({ room }) => room,
    })
    // @ts-expect-error a plain URI has no variables
    defineView({ ...fields, uri: 'lights://all', read: ({ room }) => room })
  })

  test('a URI that is only known at run time has variables of any name', () => {
    const uri: string = 'lights://{room}'
    defineView({
      ...fields,
      uri,
      read: ({ room }) => expectTypeOf(room).toEqualTypeOf<string | undefined>(),
    })
  })
})

/** A type with every member readonly and no member explicitly `undefined`, as the options write it. */
type Plain<T> = T extends object
  ? { readonly [Key in keyof T]: Plain<Exclude<T[Key], undefined>> }
  : T

test('the documented option types accept exactly what the configuration schema accepts', () => {
  type Config = Plain<Required<ConfigInput>>
  expectTypeOf<Plain<PolicyOptions>>().toEqualTypeOf<Config['policy']>()
  expectTypeOf<Plain<AuditOptions>>().toEqualTypeOf<Config['audit']>()
  expectTypeOf<Plain<HttpOptions>>().toEqualTypeOf<Config['http']>()
  expectTypeOf<Readonly<Record<string, Plain<MountOptions>>>>().toEqualTypeOf<Config['mounts']>()
  expectTypeOf<Plain<RoutingOptions>>().toEqualTypeOf<Plain<RoutingInput>>()
})
