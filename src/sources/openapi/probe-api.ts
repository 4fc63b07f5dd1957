import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFault } from '../../capability/fault.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import type { ApiClient, ApiTarget } from '../../openapi/api-client.ts'
import type { DocumentPath } from '../../openapi/document.ts'
import { probeOperations } from '../../openapi/probe-operations.ts'
import type { ScheduleProbe } from '../../upstream/egress/upstream-source.ts'

export interface LiveFinding {
  readonly severity: Diagnostic['severity']
  readonly code: string
  readonly path: DocumentPath
  readonly message: string
}

/** Asks each server, without running anything, whether it has the operations that are sent to it. */
export async function probeApi(
  targets: readonly ApiTarget[],
  client: ApiClient,
  schedule: ScheduleProbe,
): Promise<readonly LiveFinding[]> {
  const byServer = new Map<string, ApiTarget[]>()
  for (const target of targets) {
    const { server, security } = target
    // Already reported without asking.
    if (isFault(server) || isFault(security)) continue
    byServer.set(server.href, [...(byServer.get(server.href) ?? []), target])
  }
  const findings = await Promise.all(
    [...byServer].map(([url, group]) => probeServer(url, group, client, schedule)),
  )
  return findings.flat()
}

async function probeServer(
  url: string,
  targets: readonly ApiTarget[],
  client: ApiClient,
  schedule: ScheduleProbe,
): Promise<LiveFinding[]> {
  const byId = new Map(targets.map((target) => [target.operation.id, target]))
  const answer = await schedule((cancellation) =>
    probeOperations(client, byId, { capabilities: [...byId.keys()], cancellation }),
  )
  if (isFailed(answer)) return [toFailedFinding(url, answer)]
  const { offers, withoutCredentials, rejected } = answer
  const findings: LiveFinding[] = []
  const unsent = new Map<string, number>()
  const refused = new Map<string, number>()
  const unknown = new Map<string, number>()
  for (const [id, { operation }] of byId) {
    const offer = offers.get(id)
    const fault = withoutCredentials.get(id)
    const rejection = rejected.get(id)
    if (fault !== undefined) countOne(unsent, fault)
    else if (rejection !== undefined) countOne(refused, rejection)
    else if (offer?.kind === 'unknown') countOne(unknown, offer.why)
    else if (offer?.kind === 'missing')
      findings.push({
        severity: 'error',
        code: 'upstream_tool_missing',
        path: operation.path,
        message: `The server ${url} does not have ${id}: ${offer.why}.`,
      })
  }
  const path = ['servers']
  for (const [why, count] of unsent)
    findings.push({
      severity: 'error',
      code: 'upstream_unauthorized',
      path,
      message: `The server ${url} was not asked for ${count} of ${byId.size} operations: ${why.replace(/\.$/, '')}.`,
    })
  const refusals = [...refused.values()].reduce((sum, count) => sum + count, 0)
  const [rejection] = refused.keys()
  if (rejection !== undefined)
    findings.push({
      severity: 'error',
      code: 'upstream_unauthorized',
      path,
      message: `The server ${url} rejects the credentials of ${refusals} of ${byId.size} operations: ${rejection}.`,
    })
  for (const [why, count] of unknown)
    findings.push({
      severity: 'info',
      code: 'upstream_unchecked',
      path,
      message: `It is unknown whether the server ${url} has ${count} of ${byId.size} operations: ${why}.`,
    })
  return findings
}

const countOne = (counts: Map<string, number>, key: string) =>
  counts.set(key, (counts.get(key) ?? 0) + 1)

function toFailedFinding(url: string, { failure: { code, cause, message } }: Failed): LiveFinding {
  const reason = cause ?? message
  const kind = failureKinds[code] ?? { code: 'upstream_invalid', verb: 'gives no valid answer' }
  return {
    severity: 'error',
    code: kind.code,
    path: ['servers'],
    message: `The server ${url} ${kind.verb}: ${reason}`,
  }
}

const unreachable = { code: 'upstream_unreachable', verb: 'cannot be reached' }

const failureKinds: Readonly<Record<string, { readonly code: string; readonly verb: string }>> = {
  upstream_unavailable: unreachable,
  upstream_stopped: unreachable,
  upstream_busy: unreachable,
  upstream_credentials: { code: 'upstream_unauthorized', verb: 'rejects the credentials' },
  egress_refused: { code: 'egress_refused', verb: 'must not be reached' },
}
