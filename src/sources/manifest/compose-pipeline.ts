import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Failure } from '../../capability/failure.ts'
import { isFault } from '../../capability/fault.ts'
import type { Json, JsonObject } from '../../capability/json.ts'
import { done, type Failed, isFailed, type Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ReportFinding } from './capability-loader.ts'
import type { DiagnosticCode } from './diagnostic-codes.ts'
import type { Manifest } from './reading/manifest-shape.ts'
import type { ValidManifest } from './reading/read-manifest.ts'
import { toInnerReference } from './schemas/bundle-schema.ts'
import { mapKeywords } from './schemas/map-keywords.ts'

interface Stage {
  readonly id: string
  readonly onFailure: Step['on_failure']
  readonly capability: Capability
}

type Step = NonNullable<NonNullable<Manifest['composition']>['steps']>[number]

/**
 * Serves the whole composition as one capability, named after the agent. Every step is a governed call
 * with its own permissions, approvals, budgets and idempotency key.
 */
export function composePipeline(
  manifest: ValidManifest,
  capabilities: readonly Capability[],
  report: ReportFinding,
  source: string,
): Capability[] {
  const { composition, identity, runtime } = manifest
  const refuse = (code: DiagnosticCode, pointer: string, message: string): [] => {
    report('error', code, pointer, message)
    return []
  }
  if (!composition)
    return refuse(
      'composition_missing',
      '',
      'compose is true, but the manifest has no composition.',
    )
  if (composition.type === 'graph')
    return refuse(
      'composition_graph',
      '/composition/type',
      'A graph cannot be run: v0.1 has no field for its edges. Use a pipeline instead.',
    )
  const stages: Stage[] = []
  for (const [index, { id, capability_ref, on_failure }] of (composition.steps ?? []).entries()) {
    const capability = capabilities.find(({ name }) => name === capability_ref)
    if (!capability)
      return refuse(
        'composition_broken',
        `/composition/steps/${index}`,
        `${identity.id} is not composed: step ${id} runs ${capability_ref}, which is not served.`,
      )
    if (stages.some((stage) => stage.id === id))
      return refuse(
        'composition_broken',
        `/composition/steps/${index}/id`,
        `${identity.id} is not composed: the step id ${id} is used twice.`,
      )
    stages.push({ id, onFailure: on_failure, capability })
  }
  if (stages.length === 0)
    return refuse('composition_broken', '/composition', `${identity.id} has no steps to run.`)
  const input = readContract(toInput(stages), 'input')
  if (isFault(input))
    return refuse(
      'composition_broken',
      '/composition',
      `${identity.id} is not composed: ${input.fault}.`,
    )
  const everyStage = (pick: (capability: Capability) => boolean) =>
    stages.every((stage) => pick(stage.capability))
  const someStage = (pick: (capability: Capability) => boolean) =>
    stages.some((stage) => pick(stage.capability))
  return [
    Object.freeze({
      name: identity.id,
      title: identity.name,
      description: `${identity.description}\nRuns ${stages.map(({ id }) => id).join(', then ')}.`,
      input: input.contract,
      effects: {
        writes: someStage(({ effects }) => effects.writes),
        irreversible: someStage(({ effects }) => effects.irreversible),
        repeatable: everyStage(({ effects }) => effects.repeatable),
        reachesOut: someStage(({ effects }) => effects.reachesOut),
      },
      rules: {
        ...noRules,
        permissions: [...new Set(stages.flatMap(({ capability }) => capability.rules.permissions))],
        idempotencyKey: someStage(
          ({ rules, input }) =>
            rules.idempotencyKey || namesOf(input.schema.required).includes(keyArgument),
        ),
        timeout: runtime.timeout_seconds * 1000 * stages.length,
      },
      origin: { source, pointer: '/composition' },
      extras: { steps: stages.map(({ id }) => id), deterministic: composition.deterministic },
      destination: { steps: stages.map(toStepTarget) },
      invoke: (call: Call) => runStages(stages, call, runtime.max_retries),
    }),
  ]
}

const toStepTarget = ({ id, capability: { name, destination, code } }: Stage): JsonObject =>
  dropUndefined({ id, capability: name, destination, code })

/** Not an input of the pipeline: each step gets a key of its own, derived from the key of the call. */
const keyArgument = 'idempotency_key'

/** The input consists of the properties that no earlier step produces. */
function toInput(stages: readonly Stage[]): JsonObject {
  const properties: Record<string, Json> = {}
  const required = new Set<string>()
  const producedNames = new Set<string>()
  const definitions: Record<string, Json> = {}
  for (const { id, capability } of stages) {
    const { schema } = capability.input
    for (const [name, property] of Object.entries(propertiesOf(schema))) {
      if (producedNames.has(name) || name in properties || name === keyArgument) continue
      properties[name] = mapKeywords(property, (keyword, value) => {
        if (keyword !== '$ref' || typeof value !== 'string') return value
        // Definitions are nested by step, because steps may use the same names.
        definitions[id] = withNestedReferences(schema, id)
        return toInnerReference(value, `#/$defs/${id}`)
      }) as Json
    }
    for (const name of namesOf(schema.required))
      if (!producedNames.has(name) && name !== keyArgument) required.add(name)
    for (const name of Object.keys(propertiesOf(capability.output?.schema ?? {})))
      producedNames.add(name)
  }
  return {
    type: 'object',
    properties,
    required: [...required],
    ...dropUndefined({ $defs: Object.keys(definitions).length > 0 ? definitions : undefined }),
  }
}

const withNestedReferences = (schema: JsonObject, id: string): Json =>
  mapKeywords(schema, (keyword, value) =>
    keyword === '$ref' && typeof value === 'string'
      ? toInnerReference(value, `#/$defs/${id}`)
      : value,
  ) as Json

const propertiesOf = (schema: JsonObject): Record<string, Json> =>
  isPlainObject(schema.properties) ? (schema.properties as Record<string, Json>) : {}

const namesOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []

async function runStages(stages: readonly Stage[], call: Call, retries: number): Promise<Outcome> {
  const values: Record<string, unknown> = isPlainObject(call.input) ? { ...call.input } : {}
  const skippedSteps: string[] = []
  let lastData: unknown
  for (const stage of stages) {
    const outcome = await runStage(stage, values, call, retries)
    if (outcome.kind === 'asking') {
      const state = { step: stage.id, ...dropUndefined({ stepState: outcome.state }) }
      return { ...outcome, state }
    }
    if (isFailed(outcome)) {
      if (stage.onFailure !== 'continue') return toFailure(stage, outcome)
      skippedSteps.push(`${stage.id}: ${toSkipReason(outcome.failure)}`)
      continue
    }
    lastData = outcome.data
    if (isPlainObject(lastData)) Object.assign(values, lastData)
    else if (lastData !== undefined) values[stage.id] = lastData
  }
  return skippedSteps.length === 0
    ? done(lastData)
    : done({ result: lastData ?? null, skipped: skippedSteps })
}

async function runStage(
  { id, capability, onFailure }: Stage,
  values: Readonly<Record<string, unknown>>,
  call: Call,
  retries: number,
): Promise<Outcome> {
  // Answers are passed only to the step that asked.
  const resumedState = isPlainObject(call.state) && call.state.step === id ? call.state : undefined
  const maxRetries = onFailure === 'retry' && capability.effects.repeatable ? retries : 0
  for (let attempts = 0; ; attempts++) {
    const outcome = await call.run(call, capability.name, {
      step: attempts === 0 ? id : `${id}-${attempts + 1}`,
      input: pickInput(values, capability),
      ...(resumedState && { answers: call.answers, state: resumedState.stepState as Json }),
    })
    if (!isFailed(outcome) || attempts >= maxRetries || call.cancellation.cancelled) return outcome
  }
}

/** Selects the values that the step's input schema names. */
function pickInput(values: Readonly<Record<string, unknown>>, { input }: Capability): object {
  const names = Object.keys(propertiesOf(input.schema))
  return Object.fromEntries(
    names
      .filter((name) => Object.hasOwn(values, name) && name !== keyArgument)
      .map((name) => [name, values[name]]),
  )
}

/** The message of a failure for the operator is not for the model. */
const toSkipReason = ({ fixedBy, message }: Failure): string =>
  fixedBy === 'operator' ? 'temporarily unavailable' : message

/** Keeps the failure as it is and adds the step to message and details. */
const toFailure = ({ id }: Stage, { failure, ...rest }: Failed): Failed => ({
  ...rest,
  failure: {
    ...failure,
    message: `Step ${id} failed: ${failure.message}`,
    details: { ...failure.details, step: id },
  },
})
