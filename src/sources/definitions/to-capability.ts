import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Capability, Origin } from '../../capability/capability.ts'
import { text } from '../../capability/content.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isPlainObject, type JsonObject } from '../../capability/json.ts'
import { done, type Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { toolFailed } from './failures.ts'
import { isReply, toOutcome } from './reply.ts'
import { toEffects } from './to-effects.ts'
import {
  categories,
  consequenceLevels,
  statuses,
  type ToolContext,
  type ToolResult,
} from './tool-definition.ts'

const defaultTimeout = 15_000
const longestTimeout = 24 * 60 * 60_000

/** A definition as it comes out of somebody's module: everything but the schemas is checked here. */
const definitionShape = z.object({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().min(1),
  schema: z.unknown().refine((schema) => schema !== undefined, 'is missing'),
  outputSchema: z.unknown().optional(),
  category: z.enum(categories),
  consequenceLevel: z.enum(consequenceLevels).default('low'),
  requiresConfirmation: z.boolean().default(false),
  timeout: z.number().int().positive().max(longestTimeout).default(defaultTimeout),
  tags: z.array(z.string()).default([]),
  version: z.string().optional(),
  status: z.enum(statuses).default('active'),
  dependsOn: z.array(z.string()).default([]),
  permissions: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/)).default([]),
  idempotencyKey: z.boolean().default(false),
  cost: z.strictObject({ amount: z.number().nonnegative(), unit: z.string() }).optional(),
  effects: z
    .strictObject({
      writes: z.boolean(),
      irreversible: z.boolean(),
      repeatable: z.boolean(),
      reachesOut: z.boolean(),
    })
    .partial()
    .optional(),
  text: z.custom<(data: unknown) => string>(isFunction, 'must be a function').optional(),
  execute: z.custom<Execute>(isFunction, 'must be a function'),
})

type Execute = (input: unknown, context: ToolContext) => unknown
type Definition = z.output<typeof definitionShape>

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

export interface ToolReading {
  /** Absent when the tool cannot be served. */
  readonly capability?: Capability
  readonly dependsOn: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

export function toCapability(candidate: unknown, origin: Origin): ToolReading {
  const diagnostics: Diagnostic[] = []
  const say = (severity: Diagnostic['severity'], code: string, path: string, message: string) =>
    diagnostics.push({
      code,
      severity,
      message,
      source: origin.source,
      pointer: `${origin.pointer}${path}`,
    })
  const unusable = (code: string, path: string, message: string): ToolReading => {
    say('error', code, path, message)
    return { dependsOn: [], diagnostics }
  }

  const parsed = definitionShape.safeParse(candidate)
  if (!parsed.success) {
    for (const { path, message } of parsed.error.issues)
      say('error', 'definition_invalid', path.map((key) => `/${String(key)}`).join(''), message)
    return { dependsOn: [], diagnostics }
  }
  const tool = parsed.data
  for (const key of Object.keys(candidate as object))
    if (!(key in definitionShape.shape))
      say(
        'warning',
        'field_ignored',
        `/${key}`,
        `${tool.name} has a field ${key} that means nothing here.`,
      )
  const called = JSON.stringify(tool.name)
  if (tool.status === 'removed') {
    say('info', 'tool_removed', '/status', `${called} is marked as removed and is not served.`)
    return { dependsOn: [], diagnostics }
  }
  const input = readContract(tool.schema, 'input')
  if ('fault' in input)
    return unusable('schema_unusable', '/schema', `${called} is left out: ${input.fault}.`)
  const output =
    tool.outputSchema === undefined ? undefined : readContract(tool.outputSchema, 'output')
  if (output && 'fault' in output)
    return unusable('schema_unusable', '/outputSchema', `${called} is left out: ${output.fault}.`)
  for (const remark of input.remarks)
    say('warning', 'schema_inexact', '/schema', `${called}: ${remark}; clients see no type there.`)
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(tool.name))
    say('info', 'name_style', '/name', `${called} is not snake_case.`)
  if (tool.status === 'deprecated')
    say('info', 'tool_deprecated', '/status', `${called} still answers but is not listed.`)

  const capability: Capability = Object.freeze({
    name: tool.name,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description,
    input: input.contract,
    ...(output && { output: output.contract }),
    effects: toEffects(tool.category, tool.consequenceLevel, withoutAbsent(tool.effects)),
    rules: {
      ...noRules,
      permissions: tool.permissions,
      approval: tool.requiresConfirmation,
      idempotencyKey: tool.idempotencyKey,
      ...(tool.cost && { cost: tool.cost }),
      timeout: tool.timeout,
    },
    origin,
    extras: toExtras(tool),
    ...(tool.status === 'deprecated' && { hidden: true }),
    invoke: (call: Call) => execute(tool, call),
  })
  return { capability, dependsOn: tool.dependsOn, diagnostics }
}

/** What MCP has no field for travels with the tool. */
const toExtras = (tool: Definition): JsonObject => ({
  category: tool.category,
  consequenceLevel: tool.consequenceLevel,
  ...(tool.tags.length > 0 && { tags: tool.tags }),
  ...(tool.version !== undefined && { version: tool.version }),
  ...(tool.dependsOn.length > 0 && { dependsOn: tool.dependsOn }),
})

const withoutAbsent = <T extends object>(record: T | undefined) =>
  Object.fromEntries(Object.entries(record ?? {}).filter(([, value]) => value !== undefined))

async function execute(tool: Definition, call: Call): Promise<Outcome> {
  const answer = await tool.execute(call.input, toContext(call))
  if (isReply(answer)) return toOutcome(answer)
  if (!isToolResult(answer)) return withText(tool, done(answer))
  if (typeof answer.error === 'string') return toolFailed('tool_error', answer.error)
  const { data, fetchedAt, cost } = answer
  return withText(tool, { kind: 'done', data, fetchedAt, ...(cost !== undefined && { cost }) })
}

function withText(tool: Definition, outcome: Outcome): Outcome {
  if (!tool.text || outcome.kind !== 'done') return outcome
  return { ...outcome, content: [text(tool.text(outcome.data))] }
}

/** `{ tool, fetchedAt, data | error }`: all three, so that plain data is never mistaken for one. */
const isToolResult = (value: unknown): value is ToolResult =>
  isPlainObject(value) &&
  typeof value.tool === 'string' &&
  typeof value.fetchedAt === 'string' &&
  ('data' in value || 'error' in value)

export const toContext = (call: Call): ToolContext => new CallContext(call)

/** Everything is made when it is looked at, because most tools look at none of it. */
class CallContext implements ToolContext {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  get signal(): AbortSignal {
    return this.#call.cancellation.signal
  }

  get caller(): ToolContext['caller'] {
    return this.#call.caller
  }

  get answers(): ToolContext['answers'] {
    return this.#call.answers
  }

  get state(): ToolContext['state'] {
    return this.#call.state
  }

  get canAsk(): ToolContext['canAsk'] {
    return (kind) => this.#call.canAsk.has(kind)
  }

  get progress(): ToolContext['progress'] {
    return (done, total, message) =>
      this.#call.listener.progress({
        done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      })
  }

  get log(): ToolContext['log'] {
    return (level, data, logger) =>
      this.#call.listener.log({ level, data, ...(logger !== undefined && { logger }) })
  }
}
