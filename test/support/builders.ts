import { type Call, nobodyListens } from '../../src/capability/call.ts'
import type { Caller } from '../../src/capability/caller.ts'
import { Cancellation } from '../../src/capability/cancellation.ts'
import type { Capability } from '../../src/capability/capability.ts'
import { reads } from '../../src/capability/effects.ts'
import { done } from '../../src/capability/outcome.ts'
import { readContract } from '../../src/capability/read-contract.ts'
import { noRules, type Rules } from '../../src/capability/rules.ts'
import { createPipeline } from '../../src/governance/pipeline.ts'
import type { AuditEntry } from '../../src/governance/record-audit.ts'

/** A contract that must be good. */
export function aContract(schema: unknown, direction: 'input' | 'output' = 'input') {
  const reading = readContract(schema, direction)
  if ('fault' in reading) throw new Error(reading.fault)
  return reading.contract
}

export const aCapability = ({
  rules = {},
  ...rest
}: Partial<Omit<Capability, 'rules'>> & { rules?: Partial<Rules> } = {}): Capability => ({
  name: 'look_up',
  description: 'Looks something up.',
  input: aContract({ type: 'object' }),
  effects: reads,
  origin: { source: 'test', pointer: '/look_up' },
  extras: {},
  invoke: async () => done({}),
  ...rest,
  rules: { ...noRules, ...rules },
})

export const aCaller = (scopes: readonly string[] = []): Caller => ({
  subject: 'ann',
  scopes: new Set(scopes),
})

export const aCall = (parts: Partial<Call> = {}): Call => ({
  id: 'call-1',
  capability: aCapability(),
  caller: aCaller(),
  input: {},
  cancellation: new Cancellation(),
  answers: {},
  state: undefined,
  canAsk: new Set(),
  listener: nobodyListens,
  ...parts,
})

/** The whole pipeline, and what it wrote down. */
export function aPipeline(
  parts: { secrets?: string[]; timeout?: number; resultSize?: number } = {},
) {
  const audited: AuditEntry[] = []
  const govern = createPipeline({
    audit: { record: (entry) => audited.push(entry) },
    now: () => 0,
    secrets: parts.secrets ?? [],
    limits: { timeout: parts.timeout ?? 1000, resultSize: parts.resultSize ?? 10_000 },
  })
  return { govern, audited }
}
