import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isPlainObject, type Json, type JsonObject } from '../../capability/json.ts'
import { done, type Failed, type Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import type { Manifest } from './reading/manifest-shape.ts'
import type { ValidManifest } from './reading/read-manifest.ts'
import { toInnerReference } from './schemas/bundle-schema.ts'
import { mapKeywords } from './schemas/schema-keywords.ts'

type Say = (
  severity: Diagnostic['severity'],
  code: string,
  pointer: string,
  message: string,
) => void

interface Stage {
  readonly id: string
  readonly onFailure: Step['on_failure']
  readonly capability: Capability
}

type Step = NonNullable<NonNullable<Manifest['composition']>['steps']>[number]

/**
 * The whole composition as one capability named after the agent. Each step is a call of its own
 * through the same pipeline, with the permissions, approvals, budgets and keys of that step.
 */
export function composePipeline(
  manifest: ValidManifest,
  capabilities: readonly Capability[],
  say: Say,
  source: string,
): Capability[] {
  const { composition, identity, runtime } = manifest
  const refuse = (code: string, pointer: string, message: string): [] => {
    say('error', code, pointer, message)
    return []
  }
  if (!composition)
    return refuse('composition_missing', '', 'compose is true, and there is no composition.')
  if (composition.type === 'graph')
    return refuse(
      'composition_graph',
      '/composition/type',
      'A graph cannot be run: v0.1 has no field for its edges. Make it a pipeline.',
    )
  const stages: Stage[] = []
  for (const [index, { id, capability_ref, on_failure }] of (composition.steps ?? []).entries()) {
    const capability = capabilities.find(({ name }) => name === capability_ref)
    if (!capability)
      return refuse(
        'composition_broken',
        `/composition/steps/${index}`,
        `${identity.id} is not composed: its step ${id} runs ${capability_ref}, which is not served.`,
      )
    if (stages.some((stage) => stage.id === id))
      return refuse(
        'composition_broken',
        `/composition/steps/${index}/id`,
        `${identity.id} is not composed: two of its steps are called ${id}.`,
      )
    stages.push({ id, onFailure: on_failure, capability })
  }
  if (stages.length === 0)
    return refuse('composition_broken', '/composition', `${identity.id} has no steps to run.`)
  const input = readContract(toInput(stages), 'input')
  if ('fault' in input)
    return refuse(
      'composition_broken',
      '/composition',
      `${identity.id} is not composed: ${input.fault}.`,
    )
  const all = (pick: (capability: Capability) => boolean) =>
    stages.every((stage) => pick(stage.capability))
  const any = (pick: (capability: Capability) => boolean) =>
    stages.some((stage) => pick(stage.capability))
  return [
    Object.freeze({
      name: identity.id,
      title: identity.name,
      description: `${identity.description}\nRuns ${stages.map(({ id }) => id).join(', then ')}.`,
      input: input.contract,
      effects: {
        writes: any(({ effects }) => effects.writes),
        irreversible: any(({ effects }) => effects.irreversible),
        repeatable: all(({ effects }) => effects.repeatable),
        reachesOut: any(({ effects }) => effects.reachesOut),
      },
      rules: {
        ...noRules,
        permissions: [...new Set(stages.flatMap(({ capability }) => capability.rules.permissions))],
        // Each step makes its own key of it.
        idempotencyKey: any(({ rules }) => rules.idempotencyKey),
        timeout: runtime.timeout_seconds * 1000 * stages.length,
      },
      origin: { source, pointer: '/composition' },
      extras: { steps: stages.map(({ id }) => id), deterministic: composition.deterministic },
      invoke: (call: Call) => runStages(stages, call, runtime.max_retries),
    }),
  ]
}

/** What no earlier step brings has to come from outside. */
function toInput(stages: readonly Stage[]): JsonObject {
  const properties: Record<string, Json> = {}
  const required = new Set<string>()
  const brought = new Set<string>()
  const referred: Record<string, Json> = {}
  for (const { id, capability } of stages) {
    const { schema } = capability.input
    for (const [name, property] of Object.entries(propertiesOf(schema))) {
      if (brought.has(name) || name in properties) continue
      properties[name] = mapKeywords(property, (keyword, value) => {
        if (keyword !== '$ref' || typeof value !== 'string') return value
        // Each step keeps what it refers to apart from what others call the same.
        referred[id] = move(schema, id)
        return toInnerReference(value, `#/$defs/${id}`)
      }) as Json
    }
    for (const name of namesOf(schema.required)) if (!brought.has(name)) required.add(name)
    for (const name of Object.keys(propertiesOf(capability.output?.schema ?? {}))) brought.add(name)
  }
  return {
    type: 'object',
    properties,
    required: [...required],
    ...(Object.keys(referred).length > 0 && { $defs: referred }),
  }
}

const move = (schema: JsonObject, id: string): Json =>
  mapKeywords(schema, (keyword, value) =>
    keyword === '$ref' && typeof value === 'string' ? toInnerReference(value, `#/$defs/${id}`) : value,
  ) as Json

const propertiesOf = (schema: JsonObject): Record<string, Json> =>
  isPlainObject(schema.properties) ? (schema.properties as Record<string, Json>) : {}

const namesOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []

async function runStages(stages: readonly Stage[], call: Call, retries: number): Promise<Outcome> {
  const known: Record<string, unknown> = isPlainObject(call.input) ? { ...call.input } : {}
  const skipped: string[] = []
  let last: unknown
  for (const stage of stages) {
    const outcome = await runStage(stage, known, call, retries)
    if (outcome.kind === 'asking') {
      const state = { step: stage.id, ...(outcome.state !== undefined && { of: outcome.state }) }
      return { ...outcome, state }
    }
    if (outcome.kind === 'failed') {
      if (stage.onFailure !== 'continue') return toFailure(stage, outcome)
      skipped.push(`${stage.id}: ${outcome.failure.message}`)
      continue
    }
    last = outcome.data
    if (isPlainObject(last)) Object.assign(known, last)
    else if (last !== undefined) known[stage.id] = last
  }
  return skipped.length === 0 ? done(last) : done({ result: last ?? null, skipped })
}

async function runStage(
  { id, capability, onFailure }: Stage,
  known: Readonly<Record<string, unknown>>,
  call: Call,
  retries: number,
): Promise<Outcome> {
  // An answer belongs to the step that asked.
  const asked = isPlainObject(call.state) && call.state.step === id ? call.state : undefined
  const again = onFailure === 'retry' && capability.effects.repeatable ? retries : 0
  for (let tried = 0; ; tried++) {
    const outcome = await call.run(call, capability.name, {
      step: tried === 0 ? id : `${id}-${tried + 1}`,
      input: pick(known, capability),
      ...(asked && { answers: call.answers, state: asked.of as Json }),
    })
    if (outcome.kind !== 'failed' || tried >= again || call.cancellation.cancelled) return outcome
  }
}

/** Outputs feed inputs by name; what a step does not take is not given to it. */
function pick(known: Readonly<Record<string, unknown>>, { input }: Capability): object {
  const names = Object.keys(propertiesOf(input.schema))
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(known, name)).map((name) => [name, known[name]]),
  )
}

/** What it is stays what it was: whether it took effect, who can help, what to do next. */
const toFailure = ({ id }: Stage, { failure, ...rest }: Failed): Failed => ({
  ...rest,
  failure: {
    ...failure,
    message: `The step ${id} failed: ${failure.message}`,
    details: { ...failure.details, step: id },
  },
})
