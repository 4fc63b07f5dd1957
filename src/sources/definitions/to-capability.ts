import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Capability, Origin } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { toSlowPatternMessage } from '../../contracts/slow-patterns.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { toContext } from './to-context.ts'
import { toEffects } from './to-effects.ts'
import { toOutcome } from './to-outcome.ts'
import { categories, consequenceLevels, statuses, type ToolContext } from './tool-definition.ts'

const defaultTimeoutMs = 15_000
const maxTimeoutMs = 24 * 60 * 60_000

/** Validates a definition loaded from a user's module; `readContract` validates its schemas. */
const definitionShape = z.object({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().min(1),
  schema: z.unknown().refine((schema) => schema !== undefined, 'is missing'),
  outputSchema: z.unknown().optional(),
  category: z.enum(categories),
  consequenceLevel: z.enum(consequenceLevels).default('low'),
  requiresConfirmation: z.boolean().default(false),
  timeout: z.number().int().positive().max(maxTimeoutMs).default(defaultTimeoutMs),
  tags: z.array(z.string()).default([]),
  version: z.string().optional(),
  status: z.enum(statuses).default('active'),
  dependsOn: z.array(z.string()).default([]),
  // RFC 6749 scope-token: printable ASCII without space, quote and backslash.
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
  const report = (severity: Diagnostic['severity'], code: string, path: string, message: string) =>
    diagnostics.push({
      code,
      severity,
      message,
      source: origin.source,
      pointer: `${origin.pointer}${path}`,
    })
  const reject = (code: string, path: string, message: string): ToolReading => {
    report('error', code, path, message)
    return { dependsOn: [], diagnostics }
  }

  const parsed = definitionShape.safeParse(candidate)
  if (!parsed.success) {
    for (const { path, message } of parsed.error.issues) {
      const subject = path.length > 0 ? `Field ${path.join('.')}: ` : ''
      report('error', 'definition_invalid', toPointer(path), `${subject}${message}`)
    }
    return { dependsOn: [], diagnostics }
  }
  const tool = parsed.data
  for (const key of Object.keys(candidate as object))
    if (!(key in definitionShape.shape))
      report(
        'warning',
        'field_ignored',
        toPointer([key]),
        `${tool.name} has an unknown field ${key}, which is ignored.`,
      )
  const quotedName = JSON.stringify(tool.name)
  if (tool.status === 'removed') {
    report(
      'info',
      'tool_removed',
      '/status',
      `${quotedName} is marked as removed and is not served.`,
    )
    return { dependsOn: [], diagnostics }
  }
  const input = readContract(tool.schema, 'input')
  if (isFault(input))
    return reject('schema_unusable', '/schema', `${quotedName} is not served: ${input.fault}.`)
  const output =
    tool.outputSchema === undefined ? undefined : readContract(tool.outputSchema, 'output')
  if (output && isFault(output))
    return reject(
      'schema_unusable',
      '/outputSchema',
      `${quotedName} is not served: ${output.fault}.`,
    )
  for (const remark of input.remarks)
    report(
      'warning',
      'schema_inexact',
      '/schema',
      `${quotedName}: ${remark}; clients see no type for it.`,
    )
  for (const [field, reading] of [
    ['/schema', input],
    ['/outputSchema', output],
  ] as const)
    for (const slow of reading?.slowPatterns ?? [])
      report(
        'warning',
        'pattern_slow',
        field + slow.pointer,
        toSlowPatternMessage(quotedName, slow),
      )
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(tool.name))
    report('info', 'name_style', '/name', `${quotedName} is not snake_case.`)
  if (tool.status === 'deprecated')
    report(
      'info',
      'tool_deprecated',
      '/status',
      `${quotedName} is deprecated: it can be called but is not listed.`,
    )

  const capability: Capability = Object.freeze({
    name: tool.name,
    ...dropUndefined({ title: tool.title }),
    description: tool.description,
    input: input.contract,
    ...dropUndefined({ output: output?.contract }),
    effects: toEffects(tool.category, tool.consequenceLevel, dropUndefined(tool.effects ?? {})),
    rules: {
      ...noRules,
      permissions: tool.permissions,
      approval: tool.requiresConfirmation,
      idempotencyKey: tool.idempotencyKey,
      ...dropUndefined({ cost: tool.cost }),
      timeout: tool.timeout,
    },
    origin,
    extras: toExtras(tool),
    ...dropUndefined({ hidden: tool.status === 'deprecated' ? true : undefined }),
    invoke: async (call: Call) =>
      toOutcome(await tool.execute(call.input, toContext(call)), tool.text),
  })
  return { capability, dependsOn: tool.dependsOn, diagnostics }
}

/** Fields that MCP has no place for; they are sent in `_meta`. */
const toExtras = (tool: Definition): JsonObject =>
  dropUndefined({
    category: tool.category,
    consequenceLevel: tool.consequenceLevel,
    tags: tool.tags.length > 0 ? tool.tags : undefined,
    version: tool.version,
    dependsOn: tool.dependsOn.length > 0 ? tool.dependsOn : undefined,
  })
