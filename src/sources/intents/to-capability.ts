import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Contract } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { digestJson } from '../../capability/digest-json.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import type { Offer, Way } from './agents/agent.ts'
import type { Intent } from './agents/registry.ts'
import { toToolName } from './tool-name.ts'

export interface CapabilityParts {
  readonly source: string
  readonly way: Way
  /** Milliseconds until the call is stopped. */
  readonly timeout: number
  readonly invoke: (call: Call) => Promise<Outcome>
}

export interface CapabilityReading {
  readonly capability: Capability
  readonly diagnostics: readonly Diagnostic[]
}

/** An intent as something that can be called. It stays so when nobody serves it now. */
export function toCapability(intent: Intent, parts: CapabilityParts): CapabilityReading {
  const { source, way, timeout, invoke } = parts
  const offers = [
    ...intent.candidates.map(({ offer }) => offer),
    ...(intent.declared ? [intent.declared] : []),
  ]
  const said = <Key extends keyof Offer>(key: Key): Offer[Key] | undefined =>
    offers.find((offer) => offer[key] !== undefined)?.[key]
  const pointer = offers[0]?.pointer ?? ''
  const diagnostics: Diagnostic[] = []
  const warn = (code: string, message: string) =>
    diagnostics.push({ code, severity: 'warning', message, source, pointer })

  const called = `${intent.name} ${intent.version}`
  const title = said('title')
  const description = said('description')
  if (description === undefined)
    warn('description_missing', `No agent says what ${called} is for: a model will have to guess.`)
  const input = said('input')
  if (differ(offers.map((offer) => offer.input)))
    warn(
      'inputs_differ',
      `The agents for ${called} take different input. The first one's is shown.`,
    )
  const outputs = offers.map((offer) => offer.output)
  const disagree = differ(outputs)
  if (disagree)
    warn(
      'outputs_differ',
      `The agents for ${called} answer differently. No output schema is shown.`,
    )
  const output = disagree ? undefined : toOutput(said('output'), way)
  const capability: Capability = Object.freeze({
    name: toToolName(intent),
    ...(title !== undefined && { title }),
    description: description ?? `The intent ${intent.name}.`,
    input: input ? asSent(input) : anything,
    ...(output && { output }),
    effects: intent.effects,
    rules: { ...noRules, timeout },
    origin: { source, pointer },
    extras: { intent: intent.name, version: intent.version, strategy: way },
    invoke,
  })
  return { capability, diagnostics }
}

/** The payload is what was sent: each agent's own schema fills in its own defaults. */
const asSent = ({ schema, parse }: Contract): Contract => ({
  schema,
  parse: (value) => {
    const parsed = parse(value)
    const keep = (one: Awaited<typeof parsed>) => (one.ok ? { ok: true as const, value } : one)
    return parsed instanceof Promise ? parsed.then(keep) : keep(parsed)
  },
})

const differ = (contracts: readonly (Contract | undefined)[]): boolean => {
  const shown = contracts.flatMap((contract) => (contract ? [digestJson(contract.schema)] : []))
  return new Set(shown).size > 1
}

/** A broadcast answers with what everybody said. */
function toOutput(output: Contract | undefined, way: Way): Contract | undefined {
  if (way !== 'broadcast') return output && asSent(output)
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
  if ('fault' in reading) throw new Error(reading.fault)
  return reading.contract
}

const anything: Contract = toContract({ type: 'object' })
