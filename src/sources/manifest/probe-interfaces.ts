import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { ScheduleProbe } from '../../upstream/egress/upstream-source.ts'
import type { Offer, ProbeRequest, Upstream } from '../../upstream/upstream.ts'
import { quoteUpstreamText } from '../../upstream/upstream-text.ts'
import type { ReportFinding } from './capability-loader.ts'
import type { DiagnosticCode } from './diagnostic-codes.ts'
import { toUnsetReason } from './invoke/bind-secret.ts'
import type { UpstreamRoute } from './invoke/routes.ts'
import type { UpstreamTarget } from './invoke/upstreams.ts'
import type { ValidManifest } from './reading/read-manifest.ts'

/** By the name of an HTTP interface: the path of a request that has no effect, at the host of its endpoint. */
export type ProbePaths = Readonly<Record<string, string>>

/** One way in which a schema of the agent differs from the declared one, so that calls may fail. */
export interface SchemaConflict {
  readonly message: string
  /** Calls will fail; otherwise it cannot be decided. */
  readonly isCertain: boolean
}

export type CompareSchemas = (
  direction: 'input' | 'output',
  declared: JsonObject,
  actual: JsonObject,
) => readonly SchemaConflict[]

export interface ProbeParts {
  readonly targets: readonly UpstreamTarget[]
  readonly open: (route: UpstreamRoute) => Upstream
  readonly isUnset: (reference: string) => boolean
  readonly probes: ProbePaths
  readonly compare: CompareSchemas
  readonly report: ReportFinding
  readonly schedule: ScheduleProbe
}

/** Asks each interface once about all capabilities that are called over it. */
export async function probeInterfaces(parts: ProbeParts): Promise<void> {
  const byInterface = new Map<number, UpstreamTarget[]>()
  for (const target of parts.targets) {
    const { index } = target.route.interface
    byInterface.set(index, [...(byInterface.get(index) ?? []), target])
  }
  const findings = await Promise.all(
    [...byInterface.values()].map((targets) => probeInterface(targets, parts)),
  )
  // Reported when all have answered: the order must not depend on which answers first.
  for (const finding of findings.flat()) parts.report(...finding)
}

type Finding = Parameters<ReportFinding>

/** Each asks for one capability: an agent with thousands is asked about some of them. */
const maxRequests = 100

async function probeInterface(
  targets: readonly UpstreamTarget[],
  { open, isUnset, probes, compare, schedule }: ProbeParts,
): Promise<Finding[]> {
  const route = targets[0]?.route as UpstreamRoute
  const { name, index, protocol, endpoint = '', rate_limit } = route.interface
  const at = (field: string) => `/interfaces/${index}/${field}`
  const { secret } = route
  const reason =
    secret &&
    (isFault(secret) ? secret.fault : isUnset(secret.name) ? toUnsetReason(secret.name) : undefined)
  if (reason !== undefined) {
    const message = `The interface ${name} was not asked, because it has no usable secret: ${reason}.`
    return [['error', 'upstream_unauthorized', at('auth'), message]]
  }
  const url = protocol === 'HTTP' ? findProbeUrl(probes, name, endpoint) : undefined
  const maxAsked =
    protocol === 'HTTP' && url === undefined
      ? Math.min(maxRequests, rate_limit?.requests_per_minute ?? maxRequests)
      : targets.length
  const request: Omit<ProbeRequest, 'cancellation'> = dropUndefined({
    capabilities: targets.slice(0, maxAsked).map(({ id }) => id),
    url,
  })
  const answer = await schedule((cancellation) => open(route).probe({ ...request, cancellation }))
  if (isFailed(answer)) return [toFailedFinding(name, answer, at)]
  const unknown: string[] = []
  const findings = targets.flatMap((target): Finding[] => {
    const offer = answer.get(target.id) ?? notAsked
    if (offer.kind === 'unknown') unknown.push(`${target.id}: ${offer.why}`)
    return checkOffer(name, target, offer, compare)
  })
  if (unknown.length === 0) return findings
  const [first, ...others] = unknown
  const rest = others.length === 0 ? '' : ` (and ${others.length} more)`
  const message = `The interface ${name} answers, but not whether it has the capability ${first}${rest}. Declare a path that can be read under "probes" of the source.`
  return [...findings, ['info', 'upstream_unchecked', at('endpoint'), message]]
}

const notAsked: Offer = { kind: 'unknown', why: 'it was not asked, to stay within its rate limit' }

function findProbeUrl(probes: ProbePaths, name: string, endpoint: string): string | undefined {
  const path = Object.hasOwn(probes, name) ? probes[name] : undefined
  return path === undefined ? undefined : toProbeUrl(path, endpoint)
}

/** `undefined` if the path leads to another host, which must not get the secret. */
function toProbeUrl(path: string, endpoint: string): string | undefined {
  if (!URL.canParse(path, endpoint)) return undefined
  const url = new URL(path, endpoint)
  return url.origin === new URL(endpoint).origin ? url.href : undefined
}

export function reportInvalidProbes(
  { interfaces }: Pick<ValidManifest, 'interfaces'>,
  probes: ProbePaths,
  report: ReportFinding,
): void {
  for (const [name, path] of Object.entries(probes)) {
    const quoted = JSON.stringify(name)
    const probed = interfaces.find((one) => one.name === name && one.protocol === 'HTTP')
    if (!probed) {
      const message = `A probe is declared for ${quoted}, which is not an HTTP interface of the manifest.`
      report('error', 'probe_invalid', '/interfaces', message)
    } else if (toProbeUrl(path, probed.endpoint ?? '') === undefined) {
      const message = `The probe ${JSON.stringify(path)} of ${quoted} is not a path at the host of its endpoint.`
      report('error', 'probe_invalid', `/interfaces/${probed.index}/endpoint`, message)
    }
  }
}

function toFailedFinding(
  name: string,
  { failure: { code, cause, message } }: Failed,
  at: (field: string) => string,
): Finding {
  const reason = code === 'upstream_stopped' ? 'it did not answer in time' : (cause ?? message)
  const kind = failureKinds[code]
  if (!kind)
    return [
      'error',
      'upstream_invalid',
      at('endpoint'),
      `The interface ${name} gives no valid answer: ${reason}`,
    ]
  return ['error', kind.code, at(kind.field), `The interface ${name} ${kind.verb}: ${reason}`]
}

interface FailureKind {
  readonly code: DiagnosticCode
  readonly field: string
  readonly verb: string
}

const unreachable: FailureKind = {
  code: 'upstream_unreachable',
  field: 'endpoint',
  verb: 'cannot be reached',
}

const failureKinds: Readonly<Record<string, FailureKind>> = {
  upstream_unavailable: unreachable,
  upstream_stopped: unreachable,
  upstream_busy: unreachable,
  upstream_credentials: {
    code: 'upstream_unauthorized',
    field: 'auth',
    verb: 'rejects the credentials',
  },
  egress_refused: { code: 'egress_refused', field: 'endpoint', verb: 'must not be reached' },
}

function checkOffer(
  name: string,
  { id, pointer, input, output }: UpstreamTarget,
  offer: Offer,
  compare: CompareSchemas,
): Finding[] {
  if (offer.kind !== 'offered') {
    if (offer.kind === 'unknown') return []
    const message = `The interface ${name} does not have ${id}: ${offer.why}.`
    return [['error', 'upstream_tool_missing', `${pointer}/id`, message]]
  }
  return [
    ...toConflict(
      `${id} at the interface ${name} does not accept everything that input_schema allows`,
      `${pointer}/input_schema`,
      toConflicts('input', input, offer.input, compare),
    ),
    ...toConflict(
      `${id} at the interface ${name} may return what output_schema does not allow`,
      `${pointer}/output_schema`,
      toConflicts('output', output, offer.output, compare),
    ),
  ]
}

const maxSchemaChars = 1_000_000

/** The agent's schema is not trusted: it can be too large or too deep to be compared. */
function toConflicts(
  direction: 'input' | 'output',
  declared: JsonObject,
  actual: JsonObject | undefined,
  compare: CompareSchemas,
): readonly SchemaConflict[] {
  if (!actual) return []
  try {
    if (JSON.stringify(actual).length <= maxSchemaChars) return compare(direction, declared, actual)
  } catch {
    // It is nested too deeply.
  }
  return [{ message: 'It is too large or too deep to be compared.', isCertain: false }]
}

const maxConflicts = 5

function toConflict(
  sentence: string,
  pointer: string,
  conflicts: readonly SchemaConflict[],
): Finding[] {
  if (conflicts.length === 0) return []
  const texts = conflicts.slice(0, maxConflicts).map(({ message }) => quoteUpstreamText(message))
  const rest =
    conflicts.length > maxConflicts ? ` And ${conflicts.length - maxConflicts} more.` : ''
  const severity = conflicts.some(({ isCertain }) => isCertain) ? 'error' : 'warning'
  const message = `${sentence}, compared with the schema that it declares: ${texts.join(' ')}${rest}`
  return [[severity, 'upstream_schema_differs', pointer, message]]
}
