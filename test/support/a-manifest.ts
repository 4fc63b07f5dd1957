import path from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import {
  createDrawbridge,
  type Drawbridge,
  type DrawbridgeOptions,
  type ManifestSourceOptions,
  manifestSource,
} from '../../src/index.ts'
import { dropUndefined } from '../../src/json/drop-undefined.ts'
import { type ManifestProjection, projectManifest } from '../../src/runtime/project-manifest.ts'
import { aProject } from './a-project.ts'

export type Fields = Record<string, unknown>

/** A manifest as data; the defaults are valid, and require nothing. */
export interface ManifestData extends Fields {
  schema_version: unknown
  identity: Fields
  capabilities: Fields[]
  interfaces: Fields[]
  trust: Fields
  runtime: Fields
}

export interface ManifestParts {
  readonly identity?: Fields
  readonly requirements?: Fields
  /** Missing fields get defaults. */
  readonly capabilities?: readonly Fields[]
  /** Replaces the default interfaces. */
  readonly interfaces?: readonly Fields[]
  readonly policy?: Fields
  readonly trust?: Fields
  readonly composition?: Fields
  readonly runtime?: Fields
  readonly provenance?: Fields
  /** Further top-level fields. */
  readonly more?: Fields
}

export const aManifest = (parts: ManifestParts = {}): ManifestData => ({
  schema_version: '0.1',
  identity: {
    id: 'order-desk',
    name: 'Order desk',
    version: '1.2.0',
    description: 'Looks up orders and refunds them.',
    owner: 'acme-fulfilment',
    type: 'service',
    ...parts.identity,
  },
  ...dropUndefined({ requirements: parts.requirements }),
  capabilities: (parts.capabilities ?? [{}]).map(aReadingCapability),
  interfaces: [...(parts.interfaces ?? [anInterface(), anInternalInterface()])],
  trust: {
    minimum_trust_score: 0.8,
    allowed_trust_sources: ['first_party'],
    policy: {
      injection_protection: 'strict',
      pii_handling: 'mask',
      data_retention_days: 30,
      high_risk_approval_required: true,
      ...parts.policy,
    },
    budget_guardrails: { soft_alert_pct: 80, reauthorization_pct: 100, hard_stop_pct: 120 },
    credential_policy: { short_lived_credentials: true, max_ttl_minutes: 60 },
    ...parts.trust,
  },
  ...dropUndefined({ composition: parts.composition }),
  runtime: {
    execution_mode: 'deterministic_workflow',
    sandbox: 'container',
    max_retries: 0,
    timeout_seconds: 20,
    idempotency_required: true,
    replay_safe: true,
    observability: {
      log_privileged_actions: true,
      emit_cost_metrics: true,
      emit_latency_metrics: true,
    },
    ...parts.runtime,
  },
  ...dropUndefined({ provenance: parts.provenance }),
  ...parts.more,
})

export const aReadingCapability = (parts: Fields = {}): Fields => ({
  id: 'look-up-order',
  name: 'Look up an order',
  description: 'Finds one order by its number.',
  category: 'retrieval',
  input_schema: { type: 'object' },
  output_schema: { type: 'object' },
  protocols: ['MCP', 'INTERNAL'],
  idempotency_key_required: false,
  side_effect_level: 'none',
  ...parts,
})

export const aWritingCapability = (parts: Fields = {}): Fields => ({
  id: 'refund-order',
  name: 'Refund an order',
  description: 'Pays the whole amount of an order back.',
  category: 'action',
  permissions: ['orders.write'],
  idempotency_key_required: true,
  side_effect_level: 'low',
  ...parts,
})

export const anInterface = (parts: Fields = {}): Fields => ({
  name: 'agents',
  protocol: 'MCP',
  endpoint: 'https://agents.acme.example/mcp',
  auth: 'oauth2',
  privileged: false,
  ...parts,
})

export const anInternalInterface = (parts: Fields = {}): Fields => ({
  name: 'desk',
  protocol: 'INTERNAL',
  auth: 'none',
  privileged: false,
  ...parts,
})

/** Quotes strings and writes no aliases, so that the text has no YAML pitfalls of its own. */
export const toYaml = (value: unknown): string =>
  stringify(value, {
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
    lineWidth: 0,
    aliasDuplicateObjects: false,
  })

export const toJson = (value: unknown): string => JSON.stringify(value, null, 2)

const toText = (manifest: unknown): string =>
  typeof manifest === 'string' ? manifest : toYaml(manifest)

export interface ProjectParts {
  readonly extensions?: readonly string[]
  readonly strict?: boolean
  readonly all?: boolean
  readonly files?: Readonly<Record<string, string>>
}

/** Projects a manifest like `drawbridge project`. */
export async function project(manifest: unknown, parts: ProjectParts = {}): Promise<Projected> {
  const { files = {}, extensions = [], strict = true, all = false } = parts
  const folder = await aProject({ 'agent.yaml': toText(manifest), ...files })
  const file = path.join(folder, 'agent.yaml')
  const projection = await projectManifest('mcp', { file, extensions, strict, all })
  return { ...projection, mcp: projection.json as unknown as McpProjection }
}

export interface Projected extends ManifestProjection {
  readonly mcp: McpProjection
}

export interface McpProjection {
  readonly server: Fields
  readonly endpoint: string | null
  readonly tools: readonly ProjectedTool[]
  readonly extensions: Record<string, Fields>
  readonly warnings: readonly { code: string; path: string; message: string }[]
}

export interface ProjectedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Fields
  readonly outputSchema: Fields
  readonly annotations: Fields
  readonly _meta: Record<string, Fields>
}

export interface ServeParts extends ManifestSourceOptions {
  readonly files?: Readonly<Record<string, string>>
  readonly prefix?: string
  readonly bridge?: Partial<DrawbridgeOptions>
}

/** Handlers that answer every capability with an empty object, except those with a handler in `overrides`. */
export const answering = (
  manifest: ManifestData,
  overrides: NonNullable<ManifestSourceOptions['handlers']> = {},
): NonNullable<ManifestSourceOptions['handlers']> => ({
  ...Object.fromEntries(
    manifest.capabilities.map(({ id }) => [String(id), (_: unknown, __: object): unknown => ({})]),
  ),
  ...overrides,
})

/** Serves the manifest with a Drawbridge in this process until the test ends. */
export async function serveManifest(
  manifest: unknown,
  parts: ServeParts = {},
): Promise<Drawbridge> {
  const { files = {}, prefix, bridge: bridgeOptions = {}, ...options } = parts
  const folder = await aProject({ 'agent.yaml': toText(manifest), ...files })
  const source = manifestSource(path.join(folder, 'agent.yaml'), { id: 'agent.yaml', ...options })
  const bridge = createDrawbridge({
    ...bridgeOptions,
    sources: [{ source, mount: '/mcp', ...dropUndefined({ prefix }) }],
  })
  onTestFinished(() => bridge.close(100))
  await bridge.ready
  return bridge
}

export const toolNames = async (bridge: Drawbridge): Promise<string[]> =>
  (await bridge.list()).tools.map(({ name }) => name)
