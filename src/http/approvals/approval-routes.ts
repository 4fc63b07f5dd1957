import { approvalScope, type Caller } from '../../capability/caller.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import type { TokenGates } from '../../sources/records/grants/token-gate.ts'
import type { Arrival } from '../arrival.ts'
import { authenticate, type Identify } from '../callers.ts'
import type { Gate } from '../gate.ts'
import { type BodyLimits, type BodyOptions, readJsonBody } from '../json-body.ts'

/** The part of `Approvals` that these routes use. */
export interface ApprovalsApi {
  admits(caller: Caller): boolean
  list(all: boolean): readonly object[]
  find(id: string): object | undefined
  decide(
    id: string,
    state: 'approved' | 'denied',
    by: string,
  ): Promise<{ readonly approval: object } | Fault>
}

export interface ApprovalRouteOptions {
  readonly approvals: ApprovalsApi
  readonly tokenGates: TokenGates
  /** Never returns the local user: deciding needs a credential of its own. */
  readonly identify: Identify
  /** Where to find the credential, for the answer 401. */
  readonly credentialHint: string
  readonly body: BodyLimits
}

const root = '/approvals'
const maxBodyBytes = 1024

/**
 * `GET /approvals`, `GET /approvals/ID`, `POST /approvals/ID` with `{"decision":"approve"|"deny"}`.
 * CSRF: the required content type and the checked origin keep a web page from approving anything.
 */
export function approvalRoute(options: ApprovalRouteOptions): Gate {
  const { approvals, tokenGates, identify, credentialHint, body } = options
  const bodyOptions = { ...body, maxBytes: maxBodyBytes, tokenGates, refuse: refuseBody }
  return (arrival, reply) => {
    const { path } = arrival
    if (path !== root && !path.startsWith(`${root}/`)) return 'pass'
    const caller = authenticate(identify, arrival, reply, credentialHint)
    return caller ? serveApprovals(approvals, bodyOptions, arrival, caller, reply) : 'answered'
  }
}

async function serveApprovals(
  approvals: ApprovalsApi,
  bodyOptions: BodyOptions,
  arrival: Arrival,
  caller: Caller,
  reply: HttpReply,
): Promise<void> {
  const { method, path } = arrival
  if (!approvals.admits(caller))
    return reply.answer(403, JSON.stringify({ error: `This needs the scope ${approvalScope}` }), {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${approvalScope}"`,
    })
  const id = path.slice(root.length + 1)
  if (method === 'GET' && id === '') return answer(reply, 200, approvals.list(false))
  const approval = id === '' ? undefined : approvals.find(id)
  if (!approval) return answer(reply, 404, { error: `There is no approval ${id}` })
  if (method === 'GET') return answer(reply, 200, approval)
  if (method !== 'POST') return answer(reply, 405, { error: 'Only GET and POST are allowed here' })
  return readJsonBody(arrival, caller.subject, reply, bodyOptions, async (json) => {
    const state = toState(json)
    if (!state) return refuseDecision(reply)
    const result = await approvals.decide(id, state, caller.subject)
    return isFault(result)
      ? answer(reply, 409, { error: result.fault })
      : answer(reply, 200, result.approval)
  })
}

const answer = (reply: HttpReply, status: number, body: object): void =>
  reply.answer(status, JSON.stringify(body))

/** A body that is too large or too deep is not a decision either. */
const refuseBody: BodyOptions['refuse'] = (reply, status, error) =>
  status === 415 ? answer(reply, status, { error }) : refuseDecision(reply)

const refuseDecision = (reply: HttpReply): void =>
  answer(reply, 400, { error: 'Send {"decision":"approve"} or {"decision":"deny"}' })

const states = { approve: 'approved', deny: 'denied' } as const

function toState(body: unknown): 'approved' | 'denied' | undefined {
  if (!isPlainObject(body)) return undefined
  const { decision } = body
  return decision === 'approve' || decision === 'deny' ? states[decision] : undefined
}
