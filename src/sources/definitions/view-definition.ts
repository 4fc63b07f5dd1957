import { z } from 'zod'
import type { Capability, Origin, View } from '../../capability/capability.ts'
import type { Document } from '../../capability/content.ts'
import { reads } from '../../capability/effects.ts'
import { isPlainObject } from '../../capability/json.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { type Complete, toCompletion } from './completion.ts'
import { isReply, toOutcome } from './reply.ts'
import { toContext } from './to-capability.ts'
import type { ToolContext } from './tool-definition.ts'

/** Something readable at an address. */
export interface ViewDefinition {
  /** A URI, or an RFC 6570 template such as `notes://{id}`. */
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly mimeType?: string
  readonly permissions?: readonly string[]
  /** Per variable of the template: values that fit what was typed so far. */
  readonly complete?: Readonly<Record<string, Complete>>
  /** Text, documents (`{ uri, text | blob }`), or data that is shown as JSON. */
  read(variables: Readonly<Record<string, string>>, context: ToolContext): unknown
}

/** Returns its argument; exists so that it is checked while it is written. */
export const defineView = (view: ViewDefinition): ViewDefinition => view

export const isView = (value: unknown): value is ViewDefinition =>
  isPlainObject(value) && typeof value.uri === 'string' && typeof value.read === 'function'

export function toViewCapability(view: ViewDefinition, origin: Origin): View {
  const input = readContract(z.record(z.string(), z.unknown()), 'input')
  if ('fault' in input) throw new Error(input.fault)
  const base: Capability = {
    name: view.name,
    ...(view.title !== undefined && { title: view.title }),
    description: view.description,
    input: input.contract,
    effects: reads,
    rules: { ...noRules, permissions: view.permissions ?? [] },
    origin,
    extras: { uri: view.uri, ...(view.mimeType !== undefined && { mimeType: view.mimeType }) },
    invoke: async (call) => {
      const answer = await view.read(call.input as Record<string, string>, toContext(call))
      if (isReply(answer)) return toOutcome(answer)
      const documents = (Array.isArray(answer) ? answer : [answer]).filter(isDocument)
      if (documents.length === 0) return done(answer)
      return {
        kind: 'done',
        content: documents.map((resource) => ({ type: 'resource', resource })),
      }
    },
  }
  const completion = toCompletion(base, Object.entries(view.complete ?? {}))
  return Object.freeze({
    ...base,
    uri: view.uri,
    ...(view.mimeType !== undefined && { mimeType: view.mimeType }),
    ...(completion && { completion }),
  })
}

const isDocument = (value: unknown): value is Document =>
  isPlainObject(value) &&
  typeof value.uri === 'string' &&
  (typeof value.text === 'string' || typeof value.blob === 'string')
