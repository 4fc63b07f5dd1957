import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Contract } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { ownContract } from '../../contracts/own-contract.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { digestJson } from '../../json/digest-json.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { Offer, RoutingMode } from './agents/agent.ts'
import type { Candidate, Intent } from './agents/registry.ts'
import { toToolName } from './tool-name.ts'

export interface CapabilityParts {
  readonly source: string
  readonly mode: RoutingMode
  /** Timeout of the call in the pipeline. */
  readonly timeoutMs: number
  readonly invoke: (call: Call) => Promise<Outcome>
}

export interface CapabilityReading {
  readonly capability: Capability
  readonly diagnostics: readonly Diagnostic[]
}

/** The capability for an intent. A declared intent has one even while no agent serves it. */
export function toCapability(intent: Intent, parts: CapabilityParts): CapabilityReading {
  const { source, mode, timeoutMs, invoke } = parts
  const offers = [
    ...intent.candidates.map(({ offer }) => offer),
    ...(intent.declaration ? [intent.declaration] : []),
  ]
  const findFirst = <Key extends keyof Offer>(key: Key): Offer[Key] | undefined =>
    offers.find((offer) => offer[key] !== undefined)?.[key]
  const pointer = offers[0]?.pointer ?? ''
  const diagnostics: Diagnostic[] = []
  const warn = (code: string, message: string) =>
    diagnostics.push({ code, severity: 'warning', message, source, pointer })

  const label = `${intent.name} ${intent.version}`
  const description = findFirst('description')
  if (description === undefined)
    warn(
      'description_missing',
      `No agent describes ${label}, so the model has to guess what it is for. Add a description.`,
    )
  const input = findFirst('input')
  if (differ(offers.map((offer) => offer.input)))
    warn(
      'inputs_differ',
      `The agents for ${label} have different input schemas. The first one is shown to the model.`,
    )
  const outputs = offers.map((offer) => offer.output)
  const outputsDiffer = differ(outputs)
  if (outputsDiffer)
    warn(
      'outputs_differ',
      `The agents for ${label} have different output schemas. None is shown to the model.`,
    )
  const output = outputsDiffer ? undefined : toOutput(findFirst('output'), mode)
  const capability: Capability = Object.freeze(
    dropUndefined({
      name: toToolName(intent),
      title: findFirst('title'),
      description: description ?? `The intent ${intent.name}.`,
      input: input ? withoutDefaults(input) : anyObject,
      output,
      effects: intent.effects,
      rules: { ...noRules, timeout: timeoutMs },
      origin: { source, pointer },
      extras: { intent: intent.name, version: intent.version, strategy: mode },
      destination: { agents: intent.candidates.map(toTarget) },
      invoke,
    }),
  )
  return { capability, diagnostics }
}

/** An agent that may be asked. */
const toTarget = ({ agent, offer }: Candidate): JsonObject => {
  const { name, version, priority, remote, url, code } = agent
  const { fallbackAgents } = offer
  return dropUndefined({ name, version, priority, remote, url, code, fallbackAgents })
}

/** Validates but keeps the value as sent: each agent's own schema applies its own defaults. */
const withoutDefaults = ({ schema, parse }: Contract): Contract => ({
  schema,
  parse: (value) => {
    const parsed = parse(value)
    const keepValue = (result: Awaited<typeof parsed>) =>
      result.ok ? { ok: true as const, value } : result
    return parsed instanceof Promise ? parsed.then(keepValue) : keepValue(parsed)
  },
})

const differ = (contracts: readonly (Contract | undefined)[]): boolean => {
  const digests = contracts.flatMap((contract) => (contract ? [digestJson(contract.schema)] : []))
  return new Set(digests).size > 1
}

/** A broadcast returns the answers of all agents. */
function toOutput(output: Contract | undefined, mode: RoutingMode): Contract | undefined {
  if (mode !== 'broadcast') return output && withoutDefaults(output)
  return toContract({
    type: 'object',
    properties: {
      outcomes: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            agent: { type: 'string' },
            status: { enum: ['success', 'error'] },
            payload: output?.schema ?? { type: 'object' },
            error: { type: 'object' },
          },
          required: ['agent', 'status'],
        },
      },
    },
    required: ['outcomes'],
  })
}

function toContract(schema: JsonObject): Contract {
  const reading = readContract(schema, 'output')
  if (isFault(reading)) throw new Error(reading.fault)
  return reading.contract
}

const anyObject: Contract = ownContract({ type: 'object' })
