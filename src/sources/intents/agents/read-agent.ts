import { z } from 'zod'
import type { Contract } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { readContract } from '../../../contracts/read-contract.ts'
import { wireVersion } from '../envelope/envelope.ts'
import { toEffects } from '../to-effects.ts'
import { type Agent, effectClasses, type Offer, ways } from './agent.ts'
import { askLocally, type Handle } from './local-agent.ts'

/** Letters that sort the same everywhere and mean nothing to anybody's shell. */
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'must be a plain name')
const version = z.string().regex(/^(\*|[A-Za-z0-9][A-Za-z0-9._-]{0,31})$/, 'must be a version or *')
const intent = z.union([z.literal('*'), z.string().min(1).max(128)])

export const capabilityShape = z.strictObject({
  intent,
  version: version.default(wireVersion),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.unknown().optional(),
  outputSchema: z.unknown().optional(),
  effects: z
    .union([
      z.enum(effectClasses),
      z
        .strictObject({
          writes: z.boolean(),
          irreversible: z.boolean(),
          repeatable: z.boolean(),
          reachesOut: z.boolean(),
        })
        .partial(),
    ])
    .optional(),
  fallbackAgents: z.array(name).optional(),
  strategy: z.enum(ways).optional(),
})

type CapabilityInput = z.output<typeof capabilityShape>

/** Milliseconds: a timer that is set to more ends at once. */
export const maxTimeoutMs = 2 ** 31 - 1

/** What agents in code and agents elsewhere have in common. */
export const agentFields = {
  name,
  version: z.string().default(wireVersion),
  priority: z.number().int().default(100),
  concurrency: z.number().int().positive().default(1000),
  timeout: z.number().int().positive().max(maxTimeoutMs).optional(),
  capabilities: z.array(capabilityShape).min(1, 'an agent without capabilities is never asked'),
}

const agentShape = z.strictObject({
  ...agentFields,
  handle: z.custom<Handle>((value) => typeof value === 'function', 'must be a function'),
})

export interface AgentReading {
  /** Absent when it cannot be used. */
  readonly agent?: Agent
  readonly diagnostics: readonly Diagnostic[]
}

/** Where something was declared. */
export interface Place {
  readonly source: string
  readonly pointer: string
}

export function readAgent(candidate: unknown, place: Place): AgentReading {
  const parsed = agentShape.safeParse(candidate)
  if (!parsed.success) return { diagnostics: toDiagnostics(parsed.error, place) }
  const { capabilities, handle, timeout, ...rest } = parsed.data
  const { offers, diagnostics } = readOffers(capabilities, place, false)
  if (offers.length === 0) return { diagnostics }
  const agent: Agent = Object.freeze({
    ...rest,
    ...(timeout !== undefined && { timeout }),
    remote: false,
    offers,
    invoke: askLocally(rest.name, handle),
  })
  return { agent, diagnostics }
}

export const toDiagnostics = (error: z.ZodError, { source, pointer }: Place): Diagnostic[] =>
  error.issues.map(({ path, message }) => ({
    code: 'agent_invalid',
    severity: 'error',
    message,
    source,
    pointer: `${pointer}${path.map((key) => `/${String(key)}`).join('')}`,
  }))

/** A capability whose schema cannot be used is left out; the others are served. */
export function readOffers(
  capabilities: readonly CapabilityInput[],
  place: Place,
  remote: boolean,
): { readonly offers: readonly Offer[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const offers = capabilities.flatMap((capability, index): Offer[] => {
    const { source } = place
    const pointer = `${place.pointer}/capabilities/${index}`
    const called = JSON.stringify(capability.intent)
    const contract = (
      key: 'inputSchema' | 'outputSchema',
      direction: 'input' | 'output',
    ): Contract | undefined | 'unusable' => {
      if (capability[key] === undefined) return undefined
      const reading = readContract(capability[key], direction)
      if (!('fault' in reading)) return reading.contract
      const message = `${called} is left out: ${reading.fault}.`
      diagnostics.push({
        code: 'schema_unusable',
        severity: 'error',
        message,
        source,
        pointer: `${pointer}/${key}`,
      })
      return 'unusable'
    }
    const input = contract('inputSchema', 'input')
    const output = contract('outputSchema', 'output')
    if (input === 'unusable' || output === 'unusable') return []
    if (capability.effects === undefined)
      diagnostics.push({
        code: 'effects_assumed',
        severity: 'info',
        message: `${called} does not say what it does to the world: it is taken to be irreversible, and no second agent is tried after it may have acted.`,
        source,
        pointer,
      })
    return [toOffer(capability, { input, output, pointer, remote })]
  })
  return { offers, diagnostics }
}

interface OfferParts {
  readonly input: Contract | undefined
  readonly output: Contract | undefined
  readonly pointer: string
  readonly remote: boolean
}

const toOffer = (said: CapabilityInput, { input, output, pointer, remote }: OfferParts): Offer =>
  Object.freeze({
    intent: said.intent,
    version: said.version,
    ...(said.title !== undefined && { title: said.title }),
    ...(said.description !== undefined && { description: said.description }),
    ...(input && { input }),
    ...(output && { output }),
    effects: toEffects(said.effects, remote),
    ...(said.fallbackAgents && { fallbackAgents: said.fallbackAgents }),
    ...(said.strategy && { strategy: said.strategy }),
    pointer,
  })
