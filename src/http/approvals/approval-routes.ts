import { approvalScope, type Caller } from '../../capability/caller.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { parseJson } from '../../json/parse-json.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import { containsOwnerToken, type TokenGates } from '../../sources/records/grants/token-gate.ts'
import type { Arrival } from '../arrival.ts'
import { authenticate, type Identify } from '../callers.ts'
import { isJson } from '../content-type.ts'
import type { Gate } from '../gate.ts'
import { refuseToken } from '../records/grant-callers.ts'

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
  readonly identify: Identify
}

const root = '/approvals'
const maxBodyBytes = 1024

/**
 * `GET /approvals`, `GET /approvals/ID`, `POST /approvals/ID` with `{"decision":"approve"|"deny"}`.
 * CSRF: the required content type and the checked origin keep a web page from approving anything.
 */
export const approvalRoute =
  (options: ApprovalRouteOptions): Gate =>
  (arrival, reply) => {
    const { path } = arrival
    if (path !== root && !path.startsWith(`${root}/`)) return 'pass'
    const caller = authenticate(options.identify, arrival, reply)
    return caller ? serveApprovals(options, arrival, caller, reply) : 'answered'
  }

async function serveApprovals(
  { approvals, tokenGates }: ApprovalRouteOptions,
  arrival: Arrival,
  caller: Caller,
  reply: HttpReply,
): Promise<void> {
  const { method, path } = arrival
  const answer = (status: number, body: object) => reply.answer(status, JSON.stringify(body))
  if (!approvals.admits(caller))
    return reply.answer(403, JSON.stringify({ error: `This needs the scope ${approvalScope}` }), {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${approvalScope}"`,
    })
  const id = path.slice(root.length + 1)
  if (method === 'GET' && id === '') return answer(200, approvals.list(false))
  const approval = id === '' ? undefined : approvals.find(id)
  if (!approval) return answer(404, { error: `There is no approval ${id}` })
  if (method === 'GET') return answer(200, approval)
  if (method !== 'POST') return answer(405, { error: 'Only GET and POST are allowed here' })
  if (!isJson(arrival.headers['content-type']))
    return answer(415, { error: 'Content-Type must be application/json' })
  const text = (await arrival.readBody(maxBodyBytes)) ?? ''
  if (containsOwnerToken(tokenGates, text)) return refuseToken('owner', arrival, reply)
  const state = toState(text)
  if (!state) return answer(400, { error: 'Send {"decision":"approve"} or {"decision":"deny"}' })
  const decided = await approvals.decide(id, state, caller.subject)
  return isFault(decided) ? answer(409, { error: decided.fault }) : answer(200, decided.approval)
}

const states = { approve: 'approved', deny: 'denied' } as const

function toState(text: string): 'approved' | 'denied' | undefined {
  const body = parseJson(text)
  if (!isPlainObject(body)) return undefined
  const { decision } = body
  return decision === 'approve' || decision === 'deny' ? states[decision] : undefined
}
