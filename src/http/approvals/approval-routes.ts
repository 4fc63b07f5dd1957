import type { Caller } from '../../capability/caller.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import { isPlainObject } from '../../capability/json.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import type { Arrival } from '../handler.ts'

/** What the routes need of the desk where humans decide. */
export interface ApprovalRoutes {
  admits(caller: Caller): boolean
  list(all: boolean): readonly object[]
  find(id: string): object | undefined
  decide(
    id: string,
    state: 'approved' | 'denied',
    by: string,
  ): Promise<{ readonly approval: object } | Fault>
}

const scope = 'approvals:decide'
const root = '/approvals'
const largestBody = 1024

export const isApprovalPath = (path: string): boolean =>
  path === root || path.startsWith(`${root}/`)

/**
 * `GET /approvals`, `GET /approvals/ID`, `POST /approvals/ID` with `{"decision":"approve"|"deny"}`.
 * The content type and the checked origin keep a web page from saying yes.
 */
export async function serveApprovals(
  desk: ApprovalRoutes,
  arrival: Arrival,
  caller: Caller,
  reply: HttpReply,
): Promise<void> {
  const { method, path } = arrival
  const answer = (status: number, body: object) => reply.answer(status, JSON.stringify(body))
  if (!desk.admits(caller))
    return reply.answer(403, JSON.stringify({ error: `This needs the scope ${scope}` }), {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
    })
  const id = path.slice(root.length + 1)
  if (method === 'GET' && id === '') return answer(200, desk.list(false))
  const found = id === '' ? undefined : desk.find(id)
  if (!found) return answer(404, { error: `There is no approval ${id}` })
  if (method === 'GET') return answer(200, found)
  if (method !== 'POST') return answer(405, { error: 'Only GET and POST' })
  if (!/^application\/json\b/i.test(arrival.headers['content-type'] ?? ''))
    return answer(415, { error: 'Content-Type must be application/json' })
  const state = toState(await arrival.readBody(largestBody))
  if (!state) return answer(400, { error: 'Send {"decision":"approve"} or {"decision":"deny"}' })
  const decided = await desk.decide(id, state, caller.subject)
  return isFault(decided) ? answer(409, { error: decided.fault }) : answer(200, decided.approval)
}

function toState(text: string | undefined): 'approved' | 'denied' | undefined {
  try {
    const body: unknown = JSON.parse(text ?? '')
    if (!isPlainObject(body)) return undefined
    return body.decision === 'approve'
      ? 'approved'
      : body.decision === 'deny'
        ? 'denied'
        : undefined
  } catch {
    return undefined
  }
}
