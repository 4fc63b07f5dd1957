import {
  type Manifest,
  type ManifestCapability,
  type ManifestInterface,
  manifestShape,
} from '../../src/sources/manifest/manifest-shape.ts'

type Parts = Partial<Omit<Manifest, 'identity'>> & { identity?: Partial<Manifest['identity']> }

/** A manifest that is valid, with these parts. */
export const aManifest = ({ identity = {}, ...rest }: Parts = {}): Manifest =>
  manifestShape.parse({
    schema_version: '0.1',
    identity: {
      id: 'invoice-clerk',
      name: 'Invoice clerk',
      version: '1.4.0',
      description: 'Reads invoices and pays them.',
      owner: 'Acme',
      type: 'service',
      ...identity,
    },
    capabilities: [aManifestCapability()],
    interfaces: [anInterface()],
    trust: {
      minimum_trust_score: 0.5,
      allowed_trust_sources: ['first_party'],
      policy: {
        injection_protection: 'strict',
        pii_handling: 'mask',
        data_retention_days: 30,
        high_risk_approval_required: true,
      },
      budget_guardrails: { soft_alert_pct: 80, reauthorization_pct: 100, hard_stop_pct: 120 },
      credential_policy: { short_lived_credentials: true, max_ttl_minutes: 60 },
    },
    runtime: {
      execution_mode: 'deterministic_workflow',
      sandbox: 'container',
      max_retries: 1,
      timeout_seconds: 30,
      idempotency_required: true,
      replay_safe: true,
      observability: {
        log_privileged_actions: true,
        emit_cost_metrics: true,
        emit_latency_metrics: true,
      },
    },
    ...rest,
  })

export const aManifestCapability = (
  parts: Partial<ManifestCapability> = {},
): ManifestCapability => ({
  id: 'read-invoice',
  name: 'Read an invoice',
  description: 'Reads what an invoice says.',
  category: 'retrieval',
  input_schema: { type: 'object' },
  output_schema: { type: 'object' },
  protocols: ['MCP', 'A2A'],
  idempotency_key_required: false,
  side_effect_level: 'none',
  ...parts,
})

export const anInterface = (parts: Partial<ManifestInterface> = {}): ManifestInterface => ({
  name: 'main',
  protocol: 'MCP',
  endpoint: 'https://agents.example.com/mcp',
  auth: 'none',
  privileged: false,
  ...parts,
})
