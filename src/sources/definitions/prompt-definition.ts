import { z } from 'zod'
import type { Capability, Origin, Prompt } from '../../capability/capability.ts'
import { type Message, text } from '../../capability/content.ts'
import type { Contract } from '../../capability/contract.ts'
import { reads } from '../../capability/effects.ts'
import { isPlainObject } from '../../capability/json.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { type Complete, toCompletion } from './completion.ts'
import { isReply, type Reply, toOutcome } from './reply.ts'
import { toContext } from './to-capability.ts'
import type { ToolContext } from './tool-definition.ts'

/** A conversation a person can start from. */
export interface PromptDefinition {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly arguments?: Readonly<Record<string, PromptArgument>>
  readonly permissions?: readonly string[]
  /** A string is one message of the user. */
  render(
    input: Readonly<Record<string, string>>,
    context: ToolContext,
  ): Rendered | Promise<Rendered>
}

type Rendered = string | readonly Message[] | Reply

export interface PromptArgument {
  readonly description?: string
  readonly required?: boolean
  /** Values that fit what was typed so far. */
  readonly complete?: Complete
}

/** What a prompt must render to, whoever wrote it. */
const messages = toMessagesContract()

/** Returns its argument; exists so that it is checked while it is written. */
export const definePrompt = (prompt: PromptDefinition): PromptDefinition => prompt

export const isPrompt = (value: unknown): value is PromptDefinition =>
  isPlainObject(value) && typeof value.name === 'string' && typeof value.render === 'function'

export function toPromptCapability(prompt: PromptDefinition, origin: Origin): Prompt {
  const parameters = Object.entries(prompt.arguments ?? {}).map(
    ([name, { description, required = false }]) => ({
      name,
      ...(description !== undefined && { description }),
      required,
    }),
  )
  const shape = Object.fromEntries(
    parameters.map(({ name, required }) => [name, required ? z.string() : z.string().optional()]),
  )
  const input = readContract(z.object(shape), 'input')
  if ('fault' in input) throw new Error(input.fault)
  const base: Capability = {
    name: prompt.name,
    ...(prompt.title !== undefined && { title: prompt.title }),
    description: prompt.description,
    input: input.contract,
    output: messages,
    effects: reads,
    rules: { ...noRules, permissions: prompt.permissions ?? [] },
    origin,
    // Part of what a client relies on, though no schema says it.
    extras: { parameters },
    invoke: async (call) => {
      const answer = await prompt.render(call.input as Record<string, string>, toContext(call))
      if (isReply(answer)) return toOutcome(answer)
      return done(typeof answer === 'string' ? [{ role: 'user', content: text(answer) }] : answer)
    },
  }
  const completion = toCompletion(
    base,
    Object.entries(prompt.arguments ?? {}).map(([name, { complete }]) => [name, complete]),
  )
  return Object.freeze({ ...base, parameters, ...(completion && { completion }) })
}

function toMessagesContract(): Contract {
  const content = z.looseObject({ type: z.string() })
  const shape = z.array(z.object({ role: z.enum(['user', 'assistant']), content }))
  const reading = readContract(shape, 'output')
  if ('fault' in reading) throw new Error(reading.fault)
  return reading.contract
}
