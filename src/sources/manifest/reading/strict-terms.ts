import type { Manifest } from './manifest-shape.ts'

/** The strictest valid terms; substitutes for an invalid section. */
export const strictTrust: Manifest['trust'] = {
  minimum_trust_score: 1,
  allowed_trust_sources: ['first_party'],
  policy: {
    injection_protection: 'strict',
    pii_handling: 'deny',
    data_retention_days: 0,
    high_risk_approval_required: true,
  },
  budget_guardrails: { soft_alert_pct: 80, reauthorization_pct: 100, hard_stop_pct: 120 },
  credential_policy: { short_lived_credentials: true, max_ttl_minutes: 1 },
}

export const strictRuntime: Manifest['runtime'] = {
  execution_mode: 'deterministic_workflow',
  sandbox: 'container',
  max_retries: 0,
  timeout_seconds: 30,
  idempotency_required: true,
  replay_safe: true,
  observability: {
    log_privileged_actions: true,
    emit_cost_metrics: true,
    emit_latency_metrics: true,
  },
}
