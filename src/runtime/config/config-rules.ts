import type { SettingRule } from '../../capability/trust-surface.ts'

/** NATS servers are configured the same in three places. */
// biome-ignore format: table
const natsRules = (at: string): SettingRule[] => [
  { at: `${at}/url`, label: 'the address', judgement: 'address' },
  ...['token', 'user', 'password', 'nkey', 'credentials'].map((name) =>
    ({ at: `${at}/access/${name}`, label: `the ${name} for the NATS server`, judgement: 'secret' as const })),
]

/** Declarations of intents: their effects on tools are compared with the tools. */
// biome-ignore format: table
const intentRules = (at: string): SettingRule[] => [
  { at, label: 'the intents', judgement: 'review',
    items: { noun: 'intent', name: 'intent', identity: ['intent', 'version'] } },
  { at: `${at}/*`, label: '', judgement: 'presence', kind: 'intent' },
  { at: `${at}/*/intent`,         label: 'the name',          judgement: 'text' },
  { at: `${at}/*/version`,        label: 'the version',       judgement: 'text' },
  { at: `${at}/*/title`,          label: 'the title',         judgement: 'text' },
  { at: `${at}/*/description`,    label: 'the description',   judgement: 'text' },
  { at: `${at}/*/inputSchema`,    label: 'the input schema',  judgement: 'review' },
  { at: `${at}/*/outputSchema`,   label: 'the output schema', judgement: 'review' },
  { at: `${at}/*/effects`,        label: 'the effects',       judgement: 'review' },
  { at: `${at}/*/fallbackAgents`, label: 'the list of fallback agents', judgement: 'review' },
  { at: `${at}/*/strategy`,       label: 'the routing strategy', judgement: strategyOrder },
]

const strategyOrder = { order: ['direct', 'fallback', ['parallel', 'race', 'broadcast']] }

// biome-ignore format: table
const sourceRules: readonly SettingRule[] = [
  { at: '/sources', label: 'the sources', judgement: 'review',
    items: { noun: 'source', name: 'from', identity: ['kind', 'from', 'mount'], similarity: 'kind' } },
  { at: '/sources/*', label: '', judgement: 'presence', kind: 'source' },
  { at: '/sources/*/kind',   label: 'the kind',     judgement: 'review' },
  { at: '/sources/*/from',   label: 'the location', judgement: 'review' },
  { at: '/sources/*/prefix', label: 'the prefix of names', judgement: 'text', breaks: 'all' },
  { at: '/sources/*/mount',  label: 'the mount',    judgement: 'review', breaks: 'all' },

  // Manifests
  { at: '/sources/*/handlers',   label: 'the module of handlers', judgement: 'review' },
  { at: '/sources/*/extensions', label: 'the list of projected namespaces', judgement: 'text' },
  { at: '/sources/*/strict',  label: 'strict', judgement: 'off',
    wider: 'Unknown fields of the manifest are no longer errors.',
    narrower: 'Unknown fields of the manifest are errors now.' },
  { at: '/sources/*/all',     label: 'all', judgement: 'on',
    wider: 'Capabilities that are not offered over MCP are served too.',
    narrower: 'Capabilities that are not offered over MCP are no longer served.' },
  { at: '/sources/*/compose', label: 'compose', judgement: 'on',
    wider: 'The composition is served as a tool.',
    narrower: 'The composition is no longer served as a tool.' },
  { at: '/sources/*/schemas', label: 'the pinned schemas', judgement: 'review', items: { noun: 'pinned schema' } },
  { at: '/sources/*/schemas/*', label: 'the hash', judgement: 'presence', kind: 'pin' },
  { at: '/sources/*/secrets', label: 'the bindings of secrets', judgement: 'review', items: { noun: 'secret of' } },
  { at: '/sources/*/secrets/*',      label: '', judgement: 'presence', kind: 'secret' },
  ...['value', 'user', 'password', 'clientId', 'clientSecret'].map((name) =>
    ({ at: `/sources/*/secrets/*/${name}`, label: `the ${name}`, judgement: 'secret' as const })),
  { at: '/sources/*/secrets/*/tokenHost', label: 'the host that gives tokens for it', judgement: 'address' },
  { at: '/sources/*/secrets/*/tokenAuth', label: 'its form for the host that gives tokens', judgement: 'review' },
  { at: '/sources/*/secrets/*/id',   label: 'the id', judgement: 'review', kind: 'secret' },
  { at: '/sources/*/secrets/*/host', label: 'the host that gets it', judgement: 'address' },

  { at: '/sources/*/probes', label: 'the probes', judgement: 'text' },

  // Definitions
  { at: '/sources/*/categories', label: 'the categories of tools', judgement: 'review', items: { noun: 'category of' } },
  { at: '/sources/*/categories/*', label: '', judgement: 'review', kind: 'category' },

  // OpenAPI documents
  { at: '/sources/*/digest',    label: 'the digest of the document', judgement: 'review' },
  { at: '/sources/*/include',   label: 'the choice of operations', judgement: 'review' },
  { at: '/sources/*/exclude',   label: 'the choice of operations that are left out', judgement: 'review' },
  { at: '/sources/*/overlay',   label: 'the overlay', judgement: 'review' },
  { at: '/sources/*/server',    label: 'the server', judgement: 'address' },
  { at: '/sources/*/variables', label: 'the variables of the server', judgement: 'review' },
  { at: '/sources/*/outputs',   label: 'showing schemas of responses', judgement: 'text' },

  // Services
  { at: '/sources/*/id',         label: 'the id', judgement: 'text' },
  { at: '/sources/*/visibility', label: 'the visibility of actions', judgement: { order: ['dynamic', 'stable'] } },
  { at: '/sources/*/states', label: 'the exposure of states', judgement: { order: ['none', ['resources', 'tool'], 'both'] }, absent: 'both' },
  { at: '/sources/*/links',  label: 'the exposure of links', judgement: { order: ['out-of-band', 'tools'] }, absent: 'tools' },
  { at: '/sources/*/strings',   label: 'the meaning of strings', judgement: 'review' },
  { at: '/sources/*/readiness', label: 'the wait for first values', judgement: 'text' },
  { at: '/sources/*/depth',     label: 'the depth of links', judgement: 'more', absent: 5 },
  { at: '/sources/*/effects',   label: 'the declared effects', judgement: 'review', items: { noun: 'action' } },
  // A declaration of fewer effects takes keys and approvals away; it does not change what a call does. Without
  // one, the effects are inferred, and can be the unfavourable ones.
  ...['writes', 'irreversible', 'reachesOut'].map((name) =>
    ({ at: `/sources/*/effects/*/${name}`, label: `the declared effect ${name}`, judgement: 'off' as const, absent: true })),
  { at: '/sources/*/effects/*/repeatable', label: 'the declared effect repeatable', judgement: 'on', absent: null },

  // Records
  { at: '/sources/*/records/server', label: 'the records server', judgement: 'address' },
  { at: '/sources/*/records/token',  label: 'the token of the records server', judgement: 'secret' },

  // Intents
  { at: '/sources/*/intents/remote', label: 'the remote agents', judgement: 'review',
    items: { noun: 'remote agent', name: 'name', identity: ['name'] } },
  { at: '/sources/*/intents/remote/*', label: '', judgement: 'presence', kind: 'agent' },
  { at: '/sources/*/intents/remote/*/name',        label: 'the name',        judgement: 'text' },
  { at: '/sources/*/intents/remote/*/version',     label: 'the version',     judgement: 'text' },
  { at: '/sources/*/intents/remote/*/priority',    label: 'the priority, which decides who is asked first', judgement: 'review' },
  { at: '/sources/*/intents/remote/*/concurrency', label: 'the number of concurrent calls', judgement: 'more' },
  { at: '/sources/*/intents/remote/*/timeout',     label: 'the time limit of an attempt', judgement: 'more', absent: 10_000 },
  ...intentRules('/sources/*/intents/remote/*/capabilities'),
  ...natsRules('/sources/*/intents/remote/*'),
  { at: '/sources/*/intents/remote/*/token', label: 'the token', judgement: 'secret' },
  { at: '/sources/*/intents/remote/*/seal',  label: 'the seal of messages', judgement: 'restriction' },
  { at: '/sources/*/intents/remote/*/seal/format', label: 'the format of the seal', judgement: { order: ['v2', 'v1'] } },
  { at: '/sources/*/intents/remote/*/seal/key',    label: 'the key of the seal', judgement: 'review' },
  { at: '/sources/*/intents/remote/*/node',  label: 'the node', judgement: 'review' },
  ...intentRules('/sources/*/intents/declared'),
  { at: '/sources/*/intents/strategy',       label: 'the routing strategy', judgement: strategyOrder, absent: 'fallback' },
  { at: '/sources/*/intents/timeout',        label: 'the time limit of a call', judgement: 'more', absent: 30_000 },
  { at: '/sources/*/intents/attemptTimeout', label: 'the time limit of an attempt', judgement: 'more', absent: 10_000 },
  { at: '/sources/*/intents/retries',        label: 'the number of retries', judgement: 'more', absent: 0 },
  { at: '/sources/*/intents/backoff',        label: 'the wait before a retry', judgement: 'text' },
  { at: '/sources/*/intents/ejection/failures', label: 'the failures until an agent is skipped', judgement: 'more', absent: 5 },
  { at: '/sources/*/intents/ejection/seconds',  label: 'the seconds for which an agent is skipped', judgement: 'less', absent: 30 },
  { at: '/sources/*/intents/node',   label: 'the name of the node', judgement: 'review' },
  { at: '/sources/*/intents/keys',   label: 'the keys', judgement: 'review', items: { noun: 'key' } },
  { at: '/sources/*/intents/keys/*', label: 'the value', judgement: 'secret' },
  { at: '/sources/*/intents/keys/*/file', label: 'the file', judgement: 'review' },
  { at: '/sources/*/intents/logKey', label: 'the encryption of the log', judgement: 'restriction' },
  { at: '/sources/*/intents/serve',  label: 'serving other runtimes', judgement: 'presence' },
  { at: '/sources/*/intents/serve/path', label: 'the path for other runtimes', judgement: 'presence', breaks: 'narrowing' },
  { at: '/sources/*/intents/serve/nats', label: 'serving over NATS', judgement: 'presence', breaks: 'narrowing' },
  ...natsRules('/sources/*/intents/serve/nats'),
  { at: '/sources/*/intents/serve/nats/heartbeat', label: 'the heartbeat', judgement: 'text' },
  { at: '/sources/*/intents/serve/seal', label: 'requiring sealed requests', judgement: 'restriction', breaks: 'narrowing' },
  { at: '/sources/*/intents/serve/seal/format', label: 'the format of the seal', judgement: { order: ['v2', 'v1'] } },
  { at: '/sources/*/intents/serve/seal/key',    label: 'the key of the seal', judgement: 'review', breaks: 'all' },
  { at: '/sources/*/intents/discover', label: 'discovering agents', judgement: 'presence' },
  ...natsRules('/sources/*/intents/discover'),
  { at: '/sources/*/intents/discover/token', label: 'the token for discovered agents', judgement: 'secret' },
  { at: '/sources/*/intents/discover/seal',  label: 'requiring sealed announcements', judgement: 'restriction' },
  { at: '/sources/*/intents/discover/seal/key', label: 'the key of the seal', judgement: 'review' },
]

// biome-ignore format: table
const policyRules: readonly SettingRule[] = [
  { at: '/policy/mode', label: 'the mode', judgement: { order: ['enforce', 'observe'] }, breaks: 'narrowing',
    wider: 'Rules are only observed, and no longer enforced.',
    narrower: 'Rules are enforced, and no longer only observed.' },
  { at: '/policy/rules', label: 'the rules', judgement: 'review',
    items: { noun: 'rule for', name: 'match', identity: ['match', 'writes'], similarity: '' } },
  { at: '/policy/rules/*', label: '', judgement: 'restriction', kind: 'rule' },
  { at: '/policy/rules/*/match',  label: 'the list of matched names', judgement: 'restrictions' },
  { at: '/policy/rules/*/writes', label: 'the restriction to writes or reads', judgement: 'presence' },
  { at: '/policy/rules/*/permissions',     label: 'the list of required permissions', judgement: 'restrictions', breaks: 'narrowing' },
  { at: '/policy/rules/*/approval',        label: 'requiring approval', judgement: 'off', breaks: 'narrowing' },
  { at: '/policy/rules/*/approvers',       label: 'who approves', judgement: { order: ['*', 'others', 'client', 'self'] }, absent: 'client' },
  { at: '/policy/rules/*/idempotencyKey',  label: 'requiring an idempotency key', judgement: 'off', breaks: 'narrowing' },
  { at: '/policy/rules/*/cost/amount',     label: 'the cost of a call', judgement: 'less', absent: 0 },
  { at: '/policy/rules/*/cost/unit',       label: 'the unit of the cost', judgement: 'review' },
  { at: '/policy/rules/*/budgets', label: 'the budgets', judgement: 'review',
    items: { noun: 'budget', name: 'unit', identity: ['unit', 'per', 'window'], similarity: '' } },
  { at: '/policy/rules/*/budgets/*',        label: '', judgement: 'restriction', kind: 'budget' },
  { at: '/policy/rules/*/budgets/*/limit',  label: 'the limit', judgement: 'more' },
  { at: '/policy/rules/*/budgets/*/unit',   label: 'the unit', judgement: 'review', breaks: 'all' },
  { at: '/policy/rules/*/budgets/*/per',    label: 'who shares it', judgement: 'review', breaks: 'all' },
  { at: '/policy/rules/*/budgets/*/window', label: 'the window', judgement: { order: ['month', 'day', 'call'] } },
  { at: '/policy/rules/*/budgets/*/thresholds/alert',       label: 'the threshold of the notice',   judgement: 'more' },
  { at: '/policy/rules/*/budgets/*/thresholds/reauthorise', label: 'the threshold of the approval', judgement: 'more' },
  { at: '/policy/rules/*/budgets/*/thresholds/stop',        label: 'the threshold of the stop',     judgement: 'more' },
  { at: '/policy/rules/*/budgets/*/thresholds/inclusive',   label: 'reaching a threshold counting as above it', judgement: 'off' },
  { at: '/policy/rules/*/rates', label: 'the rates', judgement: 'review', items: { noun: 'rate', similarity: '' } },
  { at: '/policy/rules/*/rates/*',         label: '', judgement: 'restriction', kind: 'rate' },
  { at: '/policy/rules/*/rates/*/calls',   label: 'the number of calls', judgement: 'more' },
  { at: '/policy/rules/*/rates/*/seconds', label: 'the period in seconds', judgement: 'less' },
  { at: '/policy/rules/*/timeout',         label: 'the time limit', judgement: 'more' },
  { at: '/policy/rules/*/recordArguments', label: 'recording arguments', judgement: 'off' },
  { at: '/policy/text', label: 'the handling of hidden characters', judgement: { order: ['refuse', 'strip', 'keep'] } },
  { at: '/policy/keys/window',       label: 'the seconds for which idempotency keys are kept', judgement: 'less' },
  { at: '/policy/duplicates/window', label: 'the seconds in which a duplicate is detected',    judgement: 'less' },
  { at: '/policy/executions/keep',   label: 'the seconds for which the intent log is kept',    judgement: 'less' },
  { at: '/policy/approvals/asked',   label: 'the seconds for which an approval in the client is valid', judgement: 'more' },
  { at: '/policy/approvals/pending', label: 'the seconds for which other approvals are valid', judgement: 'more' },
  { at: '/policy/egress/allow', label: 'the list of allowed destinations', judgement: 'members', absent: '*', breaks: 'narrowing' },
  { at: '/policy/egress/deny',  label: 'the list of denied destinations',  judgement: 'restrictions', breaks: 'narrowing' },
  { at: '/policy/limits/timeout', label: 'the time limit', judgement: 'more',
    wider: 'Calls without a timeout of their own may take longer.',
    narrower: 'Calls without a timeout of their own are stopped earlier.' },
  { at: '/policy/limits/resultSize',      label: 'the limit for the size of a result', judgement: 'more' },
  { at: '/policy/limits/concurrentCalls', label: 'the limit for concurrent calls of one caller', judgement: 'more' },
]

// biome-ignore format: table
const serverRules: readonly SettingRule[] = [
  { at: '/name',         label: 'the name',         judgement: 'text' },
  { at: '/namespace',    label: 'the namespace',    judgement: 'text' },
  { at: '/version',      label: 'the version',      judgement: 'text' },
  { at: '/description',  label: 'the description',  judgement: 'text' },
  { at: '/instructions', label: 'the instructions', judgement: 'text' },
  { at: '/mounts',         label: 'the mounts', judgement: 'review', items: { noun: 'mount' } },
  { at: '/mounts/*/names', label: 'the form of served names', judgement: 'text', breaks: 'all' },
  { at: '/mounts/*/schemas', label: 'the form of shown schemas', judgement: 'text' },
  { at: '/store', label: 'the store, which holds approvals, keys, budgets and the audit,', judgement: 'review' },
  { at: '/audit/checkpoints',       label: 'checkpoints of the audit', judgement: 'restriction',
    wider: 'No more signed checkpoints of the audit are sent.',
    narrower: 'Signed checkpoints of the audit are sent.' },
  { at: '/audit/checkpoints/every', label: 'the seconds between checkpoints', judgement: 'more' },
  { at: '/audit/checkpoints/to/file',    label: 'the file of checkpoints',    judgement: 'review' },
  { at: '/audit/checkpoints/to/command', label: 'the program that receives checkpoints', judgement: 'opaque' },
  { at: '/audit/checkpoints/to/url',     label: 'the receiver of checkpoints', judgement: 'address' },
  { at: '/audit/checkpoints/to/token',   label: 'the token for the receiver of checkpoints', judgement: 'secret' },
  { at: '/http/host', label: 'the address to listen on', judgement: 'listener', breaks: 'narrowing',
    wider: 'Other machines can connect now.',
    narrower: 'Other machines can no longer connect.' },
  { at: '/http/port',    label: 'the port', judgement: 'text', breaks: 'all' },
  { at: '/http/hosts',   label: 'the list of allowed Host names', judgement: 'members', breaks: 'narrowing' },
  { at: '/http/origins', label: 'the list of web pages that may connect', judgement: 'members', breaks: 'narrowing' },
  { at: '/http/tokens',  label: 'bearer tokens', judgement: 'restriction', breaks: 'narrowing',
    items: { noun: 'token of', name: 'subject', identity: ['subject', 'hash'], similarity: 'subject' },
    wider: 'HTTP callers no longer have to authenticate.',
    narrower: 'HTTP callers now have to authenticate.' },
  { at: '/http/tokens/*',         label: '', judgement: 'presence', breaks: 'narrowing', kind: 'token' },
  { at: '/http/tokens/*/hash',    label: 'the value of the token', judgement: 'opaque', breaks: 'all' },
  { at: '/http/tokens/*/subject', label: 'the subject', judgement: 'review', breaks: 'all' },
  { at: '/http/tokens/*/scopes',  label: 'the list of scopes', judgement: 'members', breaks: 'narrowing', kind: 'scope' },
  { at: '/http/bodyLimit',  label: 'the limit for the size of a request', judgement: 'more' },
  { at: '/http/bodyValues', label: 'the limit for the JSON values of a request', judgement: 'more' },
]

/** The settings of `drawbridge.yaml`: each has a row, and a test compares them with the shape. */
export const configRules: readonly SettingRule[] = [...sourceRules, ...policyRules, ...serverRules]
