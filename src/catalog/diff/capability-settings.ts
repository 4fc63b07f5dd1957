import type { Capability, Prompt } from '../../capability/capability.ts'
import type { Json } from '../../capability/json.ts'
import type { SettingRule, TrustSurface } from '../../capability/trust-surface.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'

/** The parts of a capability that have no field of their own here: what runs, where, and metadata. */
export const toCapabilitySurface = ({
  destination,
  code,
  extras,
  parameters,
}: Pick<Capability, 'destination' | 'code' | 'extras'> & Partial<Prompt>): TrustSurface => ({
  settings: dropUndefined({
    destination,
    code,
    extras: toJson(extras),
    parameters: parameters && toJson(parameters),
  }),
  rules: capabilityRules,
})

/** Extras may contain values that only print as JSON, such as dates. */
const toJson = (extras: object): Json => JSON.parse(JSON.stringify(extras)) as Json

/**
 * What the fields of a destination mean, whatever source set them; a field that is not listed is to be
 * reviewed. Authentication by any kind is narrower than by none.
 */
// biome-ignore format: table
const toDestinationRules = (at: string): SettingRule[] => [
  ...['endpoint', 'url', 'server', 'address', 'host'].map((name) =>
    ({ at: `${at}/${name}`, label: name === 'host' ? 'the host' : 'the endpoint', judgement: 'address' as const })),
  { at: `${at}/scheme`,    label: 'the scheme',    judgement: { order: [['https', 'wss', 'tls'], ['http', 'ws', 'nats']] }, kind: 'scheme' },
  { at: `${at}/method`,    label: 'the method',    judgement: { order: [['GET', 'HEAD', 'OPTIONS', 'TRACE'], ['POST', 'PUT', 'PATCH'], 'DELETE'] }, kind: 'method' },
  { at: `${at}/path`,      label: 'the path',      judgement: 'review', kind: 'path' },
  { at: `${at}/auth`,      label: 'the authentication', judgement: { order: ['*', 'none'] }, kind: 'auth' },
  { at: `${at}/secret`,    label: 'the secret that is sent', judgement: 'reference' },
  { at: `${at}/secretMissing`, label: 'the missing secret', judgement: 'off', kind: 'secret', breaks: 'narrowing',
    wider: 'Calls now have a secret for the server.',
    narrower: 'No secret is bound to the server: every call fails.' },
  { at: `${at}/secretHost`, label: 'the host that the secret is bound to', judgement: 'restriction',
    wider: 'The secret is no longer bound to a host: it follows the endpoint.',
    narrower: 'The secret is bound to a host.' },
  { at: `${at}/header`,    label: 'the header of the secret', judgement: 'review' },
  { at: `${at}/request`,   label: 'how a call becomes a request', judgement: 'code', kind: 'request' },
  { at: `${at}/interface`, label: 'the interface', judgement: 'review', kind: 'interface' },
  { at: `${at}/protocol`,  label: 'the protocol',  judgement: 'review', kind: 'protocol' },
]

// biome-ignore format: table
const capabilityRules: readonly SettingRule[] = [
  { at: '/destination', label: 'the destination', judgement: 'presence', kind: 'destination',
    wider: 'Calls now go to another server.',
    narrower: 'Calls no longer go to another server.' },
  ...toDestinationRules('/destination'),
  { at: '/destination/agents', label: 'the agents', judgement: 'review',
    items: { noun: 'agent', name: 'name', identity: ['name'], isOrdered: true } },
  { at: '/destination/agents/*', label: '', judgement: 'presence', kind: 'agent' },
  { at: '/destination/agents/*/name',     label: 'the name',     judgement: 'text' },
  { at: '/destination/agents/*/version',  label: 'the version',  judgement: 'text' },
  { at: '/destination/agents/*/priority', label: 'the priority', judgement: 'review' },
  { at: '/destination/agents/*/remote',   label: 'running in another process', judgement: 'on' },
  { at: '/destination/agents/*/code',     label: 'the code',     judgement: 'code' },
  { at: '/destination/agents/*/fallbackAgents', label: 'the list of fallback agents', judgement: 'review' },
  ...toDestinationRules('/destination/agents/*'),
  { at: '/destination/steps', label: 'the steps', judgement: 'review',
    items: { noun: 'step', name: 'id', identity: ['id'], isOrdered: true } },
  { at: '/destination/steps/*', label: '', judgement: 'presence', kind: 'step' },
  { at: '/destination/steps/*/capability', label: 'the capability that runs', judgement: 'review' },
  { at: '/destination/steps/*/code', label: 'the code', judgement: 'code' },
  ...toDestinationRules('/destination/steps/*/destination'),
  { at: '/code', label: 'the code', judgement: 'code' },
  { at: '/extras', label: 'the metadata', judgement: 'review', items: { noun: 'metadata' } },
  { at: '/extras/protocols', label: 'the list of protocols', judgement: 'members', kind: 'protocol', breaks: 'narrowing' },
  { at: '/extras/strategy', label: 'the routing strategy', kind: 'strategy',
    judgement: { order: ['direct', 'fallback', ['parallel', 'race', 'broadcast']] } },
  { at: '/parameters', label: 'the parameters', judgement: 'review',
    items: { noun: 'parameter', name: 'name', identity: ['name'], isOrdered: true } },
  { at: '/parameters/*', label: '', judgement: 'text', kind: 'parameter' },
  { at: '/extras/*', label: '', judgement: 'text', kind: 'extra' },
]
