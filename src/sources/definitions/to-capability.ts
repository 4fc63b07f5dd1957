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
  category: z.enum(categories).optional(),
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

/** Reports about a field of the definition, or about the definition as a whole. */
export type Report = (
  severity: Diagnostic['severity'],
  code: string,
  field: readonly string[],
  message: string,
  alike?: string,
) => void

export interface ToolReading {
  readonly capability: Capability
  readonly dependsOn: readonly string[]
}

/** Validates a definition. Without a result it is not served, and the reason is reported. */
export function toCapability(
  candidate: unknown,
  origin: Origin,
  report: Report,
): ToolReading | undefined {
  const parsed = definitionShape.safeParse(candidate)
  if (!parsed.success) {
    const name = (candidate as Partial<Definition>).name
    const subject = typeof name === 'string' ? JSON.stringify(name) : 'A tool'
    for (const { path, message } of parsed.error.issues) {
      const reason = `field ${path.join('.')}: ${withoutStop(message)}`
      const field = path.map(String)
      report('error', 'definition_invalid', field, `${subject} is not served: ${reason}.`)
    }
    return undefined
  }
  const tool = parsed.data
  const quotedName = JSON.stringify(tool.name)
  if (tool.status === 'removed') {
    const message = `${quotedName} is marked as removed and is not served.`
    report('info', 'tool_removed', ['status'], message)
    return undefined
  }
  const input = readContract(tool.schema, 'input')
  if (isFault(input)) {
    report(
      'error',
      'schema_unusable',
      ['schema'],
      `${quotedName} is not served: ${withoutStop(input.fault)}.`,
    )
    return undefined
  }
  const output =
    tool.outputSchema === undefined ? undefined : readContract(tool.outputSchema, 'output')
  if (output && isFault(output)) {
    const message = `${quotedName} is not served: ${withoutStop(output.fault)}.`
    report('error', 'schema_unusable', ['outputSchema'], message)
    return undefined
  }
  for (const [field, reading] of [
    ['schema', input],
    ['outputSchema', output],
  ] as const)
    for (const remark of reading?.remarks ?? [])
      report('warning', 'schema_inexact', [field], `${quotedName}: ${remark}.`)
  for (const [field, reading] of [
    ['schema', input],
    ['outputSchema', output],
  ] as const)
    for (const slow of reading?.slowPatterns ?? [])
      report(
        'warning',
        'pattern_slow',
        [field, ...fromPointer(slow.pointer)],
        toSlowPatternMessage(quotedName, slow),
      )
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(tool.name))
    report('info', 'name_style', ['name'], `${quotedName} is not snake_case.`)
  if (tool.status === 'deprecated')
    report(
      'info',
      'tool_deprecated',
      ['status'],
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
    invoke: async (call: Call) => toOutcome(await tool.execute(call.input, toContext(call)), tool),
  })
  return { capability, dependsOn: tool.dependsOn }
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')

const fromPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Fields that MCP has no place for; they are sent in `_meta`. */
const toExtras = (tool: Definition): JsonObject =>
  dropUndefined({
    category: tool.category,
    consequenceLevel: tool.consequenceLevel,
    tags: tool.tags.length > 0 ? tool.tags : undefined,
    version: tool.version,
    dependsOn: tool.dependsOn.length > 0 ? tool.dependsOn : undefined,
  })
