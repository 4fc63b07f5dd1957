import { z } from 'zod'

/** Lower-case words joined by single dots, underscores or hyphens. */
const slug = z
  .string()
  .regex(/^[a-z0-9]+(?:[._-][a-z0-9]+)*$/, 'must be a slug such as "refund-order"')
const scope = z.string().regex(/^[a-z][a-z0-9_.:-]*$/, 'must be a scope such as "orders.read"')
const version = z
  .string()
  .regex(
    /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*)?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/,
    'must be a semantic version such as "1.4.0"',
  )
/** A URI or a reference relative to the manifest, without spaces and control characters. */
const reference = z.string().regex(/^[^\s<>"{}|\\^`]+$/, 'must be a URI or a relative reference')

const unique = <Item extends z.ZodType>(item: Item) =>
  z.array(item).refine(isUnique, 'must not contain duplicates')

function isUnique(items: readonly unknown[]): boolean {
  const seen = new Set(items.map((item) => JSON.stringify(item)))
  return seen.size === items.length
}

/** A reference to a schema in another file or at a URL. */
const referenceSchema = z.strictObject({ $ref_uri: reference })

/** JSON Schema; v0.1 only requires a single type at the root. */
const inlineSchema = z.looseObject({
  type: z.enum(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']),
})

const schema = z.union([referenceSchema, inlineSchema])

const identity = z.strictObject({
  id: slug,
  name: z.string().min(3),
  version,
  description: z.string().min(12),
  owner: z.string().min(2),
  type: z.enum(['tool', 'service', 'orchestrator', 'pipeline', 'assistant']),
  tags: unique(z.string().min(2)).optional(),
})

const requirements = z.strictObject({
  dependencies: unique(
    z.strictObject({
      name: z.string(),
      version_constraint: z.string(),
      optional: z.boolean().optional(),
    }),
  ).optional(),
  permissions: unique(scope).optional(),
  secrets: z
    .array(
      z.strictObject({
        id: z.string().min(2),
        secret_ref: z
          .string()
          .regex(/^(env|vault|kms):\/\/.+/, 'must be env://, vault:// or kms://'),
      }),
    )
    .optional(),
  budget: z
    .strictObject({
      currency: z.string().length(3).optional(),
      per_task_limit: z.number().min(0).optional(),
      monthly_limit: z.number().min(0).optional(),
    })
    .optional(),
})

const capability = z
  .strictObject({
    id: slug,
    name: z.string().min(3),
    description: z.string().min(12),
    category: z.enum([
      'reasoning',
      'retrieval',
      'transformation',
      'communication',
      'orchestration',
      'action',
    ]),
    input_schema: schema,
    output_schema: schema,
    protocols: unique(z.enum(['MCP', 'A2A', 'HTTP', 'INTERNAL'])).min(1),
    permissions: unique(scope).optional(),
    idempotency_key_required: z.boolean(),
    idempotent: z.boolean().optional(),
    side_effect_level: z.enum(['none', 'low', 'high']),
    cost: z
      .strictObject({
        mode: z.enum(['fixed', 'token', 'usage']).optional(),
        estimated_cost: z.number().min(0).optional(),
        unit: z.string().optional(),
      })
      .optional(),
  })
  .refine((one) => one.side_effect_level === 'none' || one.idempotency_key_required, {
    path: ['idempotency_key_required'],
    message: 'must be true if side_effect_level is low or high',
  })

const agentInterface = z
  .strictObject({
    name: z.string().min(1),
    protocol: z.enum(['MCP', 'A2A', 'HTTP', 'CLI', 'INTERNAL']),
    endpoint: reference.optional(),
    auth: z.enum(['none', 'api_key', 'oauth2', 'mTLS', 'signed_jwt']),
    privileged: z.boolean(),
    permissions: z.array(scope).min(1).optional(),
    rate_limit: z.strictObject({ requests_per_minute: z.int().min(1) }).optional(),
    schema_ref: z.string().optional(),
  })
  .refine((one) => one.protocol === 'INTERNAL' || one.endpoint !== undefined, {
    path: ['endpoint'],
    message: 'is required unless the protocol is INTERNAL',
  })
  .refine((one) => one.protocol !== 'INTERNAL' || one.endpoint === undefined, {
    path: ['endpoint'],
    message: 'must be absent if the protocol is INTERNAL',
  })
  .refine((one) => !one.privileged || one.permissions !== undefined, {
    path: ['permissions'],
    message: 'is required if privileged is true',
  })

const trust = z.strictObject({
  minimum_trust_score: z.number().min(0).max(1),
  allowed_trust_sources: z
    .array(z.enum(['first_party', 'partner', 'marketplace', 'verified_third_party']))
    .min(1),
  policy: z.strictObject({
    injection_protection: z.enum(['strict', 'moderate', 'off']),
    pii_handling: z.enum(['deny', 'mask', 'allow_with_approval']),
    data_retention_days: z.int().min(0),
    high_risk_approval_required: z.boolean(),
    human_approval_actions: unique(z.string()).optional(),
  }),
  budget_guardrails: z.strictObject({
    soft_alert_pct: z.literal(80),
    reauthorization_pct: z.literal(100),
    hard_stop_pct: z.literal(120),
  }),
  credential_policy: z.strictObject({
    short_lived_credentials: z.literal(true),
    max_ttl_minutes: z.int().min(1).max(1440),
  }),
})

const composition = z
  .strictObject({
    type: z.enum(['single', 'pipeline', 'graph']),
    deterministic: z.boolean(),
    steps: z
      .array(
        z.strictObject({
          id: z.string().min(1),
          capability_ref: z.string().min(1),
          on_failure: z.enum(['abort', 'continue', 'retry']),
        }),
      )
      .optional(),
  })
  .refine((one) => one.type === 'single' || (one.steps?.length ?? 0) >= 2, {
    path: ['steps'],
    message: 'needs at least two steps if the type is pipeline or graph',
  })

const runtime = z.strictObject({
  execution_mode: z.enum(['deterministic_workflow', 'autonomous_loop']),
  sandbox: z.enum(['container', 'vm', 'firecracker']),
  max_retries: z.int().min(0),
  timeout_seconds: z.number().min(1),
  idempotency_required: z.literal(true),
  replay_safe: z.literal(true),
  observability: z.strictObject({
    log_privileged_actions: z.literal(true),
    emit_cost_metrics: z.literal(true),
    emit_latency_metrics: z.literal(true),
  }),
})

const provenance = z.strictObject({
  created_at: z.iso.datetime({ offset: true }),
  updated_at: z.iso.datetime({ offset: true }).optional(),
  source: z.enum(['first_party', 'partner', 'marketplace', 'imported']),
  source_repo: z.url().optional(),
  commit: z
    .string()
    .regex(/^[0-9a-f]{7,40}$/, 'must be 7 to 40 hexadecimal digits')
    .optional(),
  maintainer_contact: z.email().optional(),
})

/** An AgentHub `agent.yaml` of schema version 0.1, field by field. */
export const manifestShape = z.strictObject({
  schema_version: z.literal('0.1', 'must be the string "0.1", in quotes'),
  identity,
  requirements: requirements.optional(),
  capabilities: z.array(capability).min(1),
  interfaces: z.array(agentInterface).min(1),
  trust,
  composition: composition.optional(),
  runtime,
  provenance: provenance.optional(),
})

export type Manifest = z.output<typeof manifestShape>
export type ManifestCapability = Manifest['capabilities'][number]
export type ManifestInterface = Manifest['interfaces'][number]
export type ManifestSchema = ManifestCapability['input_schema']
