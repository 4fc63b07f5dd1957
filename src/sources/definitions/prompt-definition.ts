import { z } from 'zod'
import type { Capability, Origin, Prompt } from '../../capability/capability.ts'
import { type Message, text } from '../../capability/content.ts'
import type { Contract } from '../../capability/contract.ts'
import { readOnly } from '../../capability/effects.ts'
import { isFault } from '../../capability/fault.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type Completer, toCompletion } from './completion.ts'
import { isReply, outcomeOf, type Reply } from './reply.ts'
import { toContext } from './to-context.ts'
import type { ToolContext } from './tool-definition.ts'

/** A prompt: a conversation that a person starts from, usually listed as a slash command. */
export interface PromptDefinition {
  /** The name clients use. */
  readonly name: string
  /** A name for people, shown in user interfaces. */
  readonly title?: string
  /** Tells people when to use it; shown beside the name. */
  readonly description: string
  /** Fields that the person fills in, by name. Values are always strings. */
  readonly arguments?: Readonly<Record<string, PromptArgument>>
  /** Scopes that a caller must hold, all of them. */
  readonly permissions?: readonly string[]
  /** Returns the messages. A string is one message of the user; `ask(…)` asks the client first. */
  render(
    input: Readonly<Record<string, string>>,
    context: ToolContext,
  ): Rendered | Promise<Rendered>
}

type Rendered = string | readonly Message[] | Reply

/** One argument of a prompt. */
export interface PromptArgument {
  /** Tells people what to enter; shown beside the field. */
  readonly description?: string
  /** `true` if the prompt cannot be rendered without it. Default: `false`. */
  readonly required?: boolean
  /** Suggests values while the person types. */
  readonly complete?: Completer
}

type PromptArguments = Readonly<Record<string, PromptArgument>>

/** Arguments marked `required: true` are strings, the others may be absent; any name if the names are not known. */
type InputOf<Arguments extends PromptArguments> = string extends keyof Arguments
  ? Readonly<Record<string, string>>
  : {
      readonly [Name in keyof Arguments as Arguments[Name]['required'] extends true
        ? Name
        : never]: string
    } & {
      readonly [Name in keyof Arguments as Arguments[Name]['required'] extends true
        ? never
        : Name]?: string
    }

const messages = toMessagesContract()

/**
 * Defines a prompt. Returns its argument; exists for its types: the names in `arguments` are the
 * keys of what `render` receives.
 *
 * @example
 * ```ts
 * import { definePrompt } from 'drawbridge-mcp'
 *
 * export const summarise = definePrompt({
 *   name: 'summarise',
 *   description: 'Summarises a topic.',
 *   arguments: { topic: { required: true }, tone: {} },
 *   render: ({ topic, tone = 'plain' }) => `Summarise ${topic} in a ${tone} tone.`,
 * })
 * ```
 */
// biome-ignore lint/complexity/noBannedTypes: {} is a prompt without arguments
export const definePrompt = <const Arguments extends PromptArguments = {}>(
  prompt: Omit<PromptDefinition, 'arguments' | 'render'> & {
    readonly arguments?: Arguments & { readonly [Name in keyof Arguments]: PromptArgument }
    render(input: InputOf<Arguments>, context: ToolContext): Rendered | Promise<Rendered>
  },
): PromptDefinition => prompt as PromptDefinition

export const isPrompt = (value: unknown): value is PromptDefinition =>
  isPlainObject(value) && typeof value.name === 'string' && typeof value.render === 'function'

export function toPromptCapability(prompt: PromptDefinition, origin: Origin): Prompt {
  const parameters = Object.entries(prompt.arguments ?? {}).map(
    ([name, { description, required = false }]) => dropUndefined({ name, description, required }),
  )
  const shape = Object.fromEntries(
    parameters.map(({ name, required }) => [name, required ? z.string() : z.string().optional()]),
  )
  const input = readContract(z.object(shape), 'input')
  if (isFault(input)) throw new Error(input.fault)
  const base: Capability = {
    name: prompt.name,
    ...dropUndefined({ title: prompt.title }),
    description: prompt.description,
    input: input.contract,
    output: messages,
    effects: readOnly,
    rules: { ...noRules, permissions: prompt.permissions ?? [] },
    origin,
    // Clients depend on the parameters: as extras they are part of the fingerprint.
    extras: { parameters },
    invoke: async (call) => {
      const result = await prompt.render(call.input as Record<string, string>, toContext(call))
      if (isReply(result)) return outcomeOf(result)
      return done(typeof result === 'string' ? [{ role: 'user', content: text(result) }] : result)
    },
  }
  const completion = toCompletion(
    base,
    Object.entries(prompt.arguments ?? {}).map(([name, { complete }]) => [name, complete]),
  )
  return Object.freeze({ ...base, parameters, ...dropUndefined({ completion }) })
}

/** Rendered messages are validated: a prompt is user code. */
function toMessagesContract(): Contract {
  const content = z.looseObject({ type: z.string() })
  const shape = z.array(z.object({ role: z.enum(['user', 'assistant']), content }))
  const reading = readContract(shape, 'output')
  if (isFault(reading)) throw new Error(reading.fault)
  return reading.contract
}
