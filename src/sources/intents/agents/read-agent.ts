import { z } from 'zod'
import type { Contract } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { type Fault, isFault } from '../../../capability/fault.ts'
import { readContract } from '../../../contracts/read-contract.ts'
import { toSlowPatternMessage } from '../../../contracts/slow-patterns.ts'
import { digestJson } from '../../../json/digest-json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { toEffects } from '../to-effects.ts'
import type { Agent, Offer } from './agent.ts'
import { agentFields, type CapabilityInput } from './agent-shapes.ts'
import { type AgentHandler, invokeLocally } from './local-agent.ts'

const agentShape = z.strictObject({
  ...agentFields,
  handle: z.custom<AgentHandler>((value) => typeof value === 'function', 'must be a function'),
})

export interface AgentReading {
  /** Absent when the definition is unusable. */
  readonly agent?: Agent
  readonly diagnostics: readonly Diagnostic[]
}

/** Location of a declaration, for diagnostics. */
export interface DeclarationPlace {
  readonly source: string
  readonly pointer: string
}

/** Without the digest of a module, only the text of the function `handle` is covered. */
export function readAgent(
  candidate: unknown,
  place: DeclarationPlace,
  moduleCode?: string,
): AgentReading {
  const parsed = agentShape.safeParse(candidate)
  if (!parsed.success) return { diagnostics: toDiagnostics(parsed.error, place) }
  const { capabilities, handle, timeout, ...rest } = parsed.data
  const { offers, diagnostics } = readOffers(capabilities, place, false)
  if (offers.length === 0) return { diagnostics }
  const invoke = invokeLocally(rest.name, handle)
  const code = moduleCode ?? digestJson(JSON.stringify(String(handle)))
  const agent: Agent = Object.freeze(
    dropUndefined({ ...rest, timeout, remote: false, offers, code, invoke }),
  )
  return { agent, diagnostics }
}

export const toDiagnostics = (
  error: z.ZodError,
  { source, pointer }: DeclarationPlace,
): Diagnostic[] =>
  error.issues.map(({ path, message }) => ({
    code: 'agent_invalid',
    severity: 'error',
    message,
    source,
    pointer: `${pointer}${toPointer(path)}`,
  }))

/** Leaves out capabilities with an unusable schema and serves the others. */
export function readOffers(
  capabilities: readonly CapabilityInput[],
  place: DeclarationPlace,
  remote: boolean,
): { readonly offers: readonly Offer[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const offers = capabilities.flatMap((capability, index): Offer[] => {
    const { source } = place
    const pointer = `${place.pointer}/capabilities/${index}`
    const label = JSON.stringify(capability.intent)
    const contract = (
      key: 'inputSchema' | 'outputSchema',
      direction: 'input' | 'output',
    ): Contract | undefined | Fault => {
      if (capability[key] === undefined) return undefined
      const reading = readContract(capability[key], direction)
      if (!isFault(reading)) {
        for (const remark of reading.remarks)
          diagnostics.push({
            code: 'schema_inexact',
            severity: 'warning',
            message: `The intent ${label}: ${remark}.`,
            source,
            pointer: `${pointer}/${key}`,
          })
        for (const slow of reading.slowPatterns ?? [])
          diagnostics.push({
            code: 'pattern_slow',
            severity: 'warning',
            message: toSlowPatternMessage(`The intent ${label}`, slow),
            source,
            pointer: `${pointer}/${key}${slow.pointer}`,
          })
        return reading.contract
      }
      const message = `The intent ${label} is ignored: ${reading.fault}.`
      diagnostics.push({
        code: 'schema_unusable',
        severity: 'error',
        message,
        source,
        pointer: `${pointer}/${key}`,
      })
      return reading
    }
    const input = contract('inputSchema', 'input')
    const output = contract('outputSchema', 'output')
    if ((input && isFault(input)) || (output && isFault(output))) return []
    if (capability.effects === undefined)
      diagnostics.push({
        code: 'effects_assumed',
        severity: 'info',
        message: `The intent ${label} does not declare its effects: it is assumed to be irreversible, and no second agent is asked once the first may have acted.`,
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

const toOffer = (capability: CapabilityInput, parts: OfferParts): Offer => {
  const { intent, version, title, description, effects, fallbackAgents, strategy } = capability
  const { input, output, pointer, remote } = parts
  return Object.freeze(
    dropUndefined({
      intent,
      version,
      title,
      description,
      input,
      output,
      effects: toEffects(effects, remote),
      fallbackAgents,
      strategy,
      pointer,
    }),
  )
}
