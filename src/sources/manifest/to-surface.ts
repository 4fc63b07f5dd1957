import type { SettingRule, TrustSurface } from '../../capability/trust-surface.ts'
import type { ValidManifest } from './reading/read-manifest.ts'
import { toPlainJson, toSectionExtensions } from './to-extension.ts'

/** Everything in a manifest but its capabilities, at the pointers of the file. */
export function toSurface(
  manifest: ValidManifest,
  /** Digests of the OpenAPI documents of interfaces, by the index of the interface. */
  documents: ReadonlyMap<number, string>,
): TrustSurface {
  const { schema_version, identity, requirements, interfaces } = manifest
  const { composition, provenance, extensions, substituted } = manifest
  // A section that is not valid is as good as absent.
  const trust = substituted.has('trust') ? undefined : manifest.trust
  const runtime = substituted.has('runtime') ? undefined : manifest.runtime
  const sections = { schema_version, identity, requirements, trust, composition, runtime }
  return {
    settings: toPlainJson({
      ...extensions.get(''),
      ...toSectionExtensions(extensions),
      ...sections,
      provenance,
      interfaces: interfaces.map(({ index, ...one }) => ({
        ...one,
        schema_ref: toReference(one.schema_ref, documents.get(index)),
      })),
    }),
    rules: manifestRules,
  }
}

/** The content of an OpenAPI document decides about requests, as its name does. */
const toReference = (reference: string | undefined, digest: string | undefined) =>
  digest === undefined ? reference : `${reference} (sha256:${digest})`

/** The fields of manifest v0.1, in its order; each has a row, and a test compares them with the schema. */
// biome-ignore format: table
export const manifestRules: readonly SettingRule[] = [
  { at: '/schema_version',       label: 'the schema version', judgement: 'text' },
  { at: '/identity/id',          label: 'the id',             judgement: 'review' },
  { at: '/identity/name',        label: 'the name',           judgement: 'text' },
  { at: '/identity/version',     label: 'the version',        judgement: 'text' },
  { at: '/identity/description', label: 'the description',    judgement: 'text' },
  { at: '/identity/owner',       label: 'the owner',          judgement: 'review' },
  { at: '/identity/type',        label: 'the type of agent',  judgement: 'review' },
  { at: '/identity/tags',        label: 'the list of tags',   judgement: 'text' },

  { at: '/requirements/dependencies', label: 'the dependencies', judgement: 'review',
    items: { noun: 'dependency', name: 'name', identity: ['name'] } },
  { at: '/requirements/dependencies/*', label: '', judgement: 'review', kind: 'dependency' },
  { at: '/requirements/dependencies/*/name', label: 'the name', judgement: 'text' },
  { at: '/requirements/dependencies/*/version_constraint', label: 'the version', judgement: 'review' },
  { at: '/requirements/dependencies/*/optional', label: 'being optional', judgement: 'review' },
  { at: '/requirements/permissions', label: 'the list of permissions that the agent asks for', judgement: 'members', kind: 'requirement' },
  { at: '/requirements/secrets', label: 'the secrets', judgement: 'review',
    items: { noun: 'secret', name: 'id', identity: ['id'] } },
  { at: '/requirements/secrets/*', label: '', judgement: 'presence', kind: 'secret' },
  { at: '/requirements/secrets/*/id', label: 'the id', judgement: 'text' },
  { at: '/requirements/secrets/*/secret_ref', label: 'the reference', judgement: 'secret' },
  { at: '/requirements/budget/currency',       label: 'the currency of the budget', judgement: 'review', breaks: 'all' },
  { at: '/requirements/budget/per_task_limit', label: 'the budget of one call',     judgement: 'more' },
  { at: '/requirements/budget/monthly_limit',  label: 'the budget of a month',      judgement: 'more' },

  { at: '/interfaces', label: 'the interfaces', judgement: 'review',
    items: { noun: 'interface', name: 'name', identity: ['name', 'protocol'], similarity: 'name', isOrdered: true } },
  { at: '/interfaces/*', label: '', judgement: 'presence', kind: 'interface' },
  { at: '/interfaces/*/name',       label: 'the name',           judgement: 'text' },
  { at: '/interfaces/*/protocol',   label: 'the protocol',       judgement: 'review' },
  { at: '/interfaces/*/endpoint',   label: 'the endpoint',       judgement: 'address' },
  { at: '/interfaces/*/auth',       label: 'the authentication', judgement: { order: ['*', 'none'] } },
  { at: '/interfaces/*/privileged', label: 'the privilege, which requires permissions and approvals,', judgement: 'off' },
  { at: '/interfaces/*/permissions', label: 'the list of required permissions', judgement: 'restrictions' },
  { at: '/interfaces/*/rate_limit/requests_per_minute', label: 'the rate limit per minute', judgement: 'more' },
  { at: '/interfaces/*/schema_ref', label: 'the schema',         judgement: 'review' },

  { at: '/trust/minimum_trust_score',   label: 'the minimum trust score',           judgement: 'less' },
  { at: '/trust/allowed_trust_sources', label: 'the list of allowed trust sources', judgement: 'members' },
  { at: '/trust/policy/injection_protection', label: 'the injection protection', judgement: { order: ['strict', 'moderate', 'off'] } },
  { at: '/trust/policy/pii_handling', label: 'the handling of personal data', judgement: { order: ['deny', 'mask', 'allow_with_approval'] } },
  { at: '/trust/policy/data_retention_days',         label: 'the data retention in days', judgement: 'more' },
  { at: '/trust/policy/high_risk_approval_required', label: 'the approval of high-risk calls', judgement: 'off' },
  { at: '/trust/policy/human_approval_actions', label: 'the list of actions that a human approves', judgement: 'restrictions' },
  { at: '/trust/budget_guardrails/soft_alert_pct',      label: 'the budget alert in percent',          judgement: 'more' },
  { at: '/trust/budget_guardrails/reauthorization_pct', label: 'the budget approval in percent',       judgement: 'more' },
  { at: '/trust/budget_guardrails/hard_stop_pct',       label: 'the stop of the budget in percent',    judgement: 'more' },
  { at: '/trust/credential_policy/short_lived_credentials', label: 'requiring short-lived credentials', judgement: 'off' },
  { at: '/trust/credential_policy/max_ttl_minutes', label: 'the lifetime of credentials in minutes', judgement: 'more' },

  { at: '/composition',                label: 'the composition',              judgement: 'presence' },
  { at: '/composition/type',           label: 'the type of the composition',  judgement: 'review' },
  { at: '/composition/deterministic',  label: 'being deterministic',          judgement: 'off' },
  { at: '/composition/steps', label: 'the steps', judgement: 'review',
    items: { noun: 'step', name: 'id', identity: ['id'], isOrdered: true } },
  { at: '/composition/steps/*', label: '', judgement: 'presence', kind: 'step' },
  { at: '/composition/steps/*/id',             label: 'the id', judgement: 'text' },
  { at: '/composition/steps/*/capability_ref', label: 'the capability that runs', judgement: 'review' },
  { at: '/composition/steps/*/on_failure', label: 'the reaction to a failure', judgement: { order: ['abort', ['retry', 'continue']] } },

  { at: '/runtime/execution_mode',  label: 'the execution mode', judgement: { order: ['deterministic_workflow', 'autonomous_loop'] } },
  { at: '/runtime/sandbox',         label: 'the sandbox',        judgement: { order: ['firecracker', 'vm', 'container'] } },
  { at: '/runtime/max_retries',     label: 'the number of retries',   judgement: 'more' },
  { at: '/runtime/timeout_seconds', label: 'the time limit in seconds', judgement: 'more' },
  { at: '/runtime/idempotency_required', label: 'requiring idempotency', judgement: 'off' },
  { at: '/runtime/replay_safe',          label: 'being safe to replay',  judgement: 'off' },
  { at: '/runtime/observability/log_privileged_actions', label: 'the log of privileged actions', judgement: 'off' },
  { at: '/runtime/observability/emit_cost_metrics',      label: 'the metrics of cost',           judgement: 'off' },
  { at: '/runtime/observability/emit_latency_metrics',   label: 'the metrics of latency',        judgement: 'off' },

  { at: '/provenance/created_at',  label: 'the time of creation',     judgement: 'text' },
  { at: '/provenance/updated_at',  label: 'the time of the update',   judgement: 'text' },
  { at: '/provenance/source',      label: 'the origin of the agent',  judgement: { order: ['first_party', 'partner', ['marketplace', 'imported']] } },
  { at: '/provenance/source_repo', label: 'the repository',           judgement: 'address' },
  { at: '/provenance/commit',      label: 'the commit',               judgement: 'text' },
  { at: '/provenance/maintainer_contact', label: 'the contact',       judgement: 'review' },
]
