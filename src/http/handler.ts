import type { HttpReply } from '../mcp/http-port.ts'
import { type ApprovalRouteOptions, approvalRoute } from './approvals/approval-routes.ts'
import type { Arrival } from './arrival.ts'
import type { Identify } from './callers.ts'
import { allowOrigin, answerPreflight } from './cors.ts'
import { type Frames, frameRoute } from './frames/frame-route.ts'
import { type Gate, refuse } from './gate.ts'
import { healthRoute } from './health-route.ts'
import { checkAddress, type Guard } from './host-guard.ts'
import type { BodyLimits } from './json-body.ts'
import { type Endpoints, mcpRoute } from './mcp-route.ts'
import { refuseOwnerTokens } from './records/owner-tokens.ts'
import type { RecordsApi } from './records/records-api.ts'
import { recordsRoute } from './records/records-routes.ts'

export interface HandlerOptions {
  /** MCP endpoints by path. */
  readonly mounts: Endpoints
  readonly records: RecordsApi
  readonly guard: Guard
  readonly identify: Identify
  readonly body: BodyLimits
  readonly approvals: Omit<ApprovalRouteOptions, 'tokenGates' | 'body'>
  readonly frames: Frames
  /** The body of `GET /health`. */
  readonly health: () => object
}

/** Returns a promise if the request is not answered at once. */
export type Handler = (arrival: Arrival, reply: HttpReply) => Promise<void> | undefined

/** Every request passes these gates top to bottom until one of them answers. */
export function createHandler(options: HandlerOptions): Handler {
  const { records, identify, body } = options
  const { tokenGates } = records
  const gates: readonly Gate[] = [
    checkAddress(options.guard), // first: DNS rebinding and CSRF are stopped on every path
    allowOrigin, // CORS headers, so that a page can also read the refusals below
    answerPreflight, // browsers send OPTIONS without credentials
    recordsRoute(records, body), // before the method check: it has its own methods and error format
    checkMethod, // 405 before 404, on every other path
    healthRoute(options.health), // without credentials: load balancers have none
    refuseOwnerTokens(tokenGates), // before any path is looked up, also on unknown ones
    // Each route below authenticates its own callers. Frames come first: a reload can put them at the
    // path of a former mount, and mounts stay open.
    frameRoute({ frames: options.frames, tokenGates, identify, body }),
    mcpRoute({ endpoints: options.mounts, tokenGates, identify, body }),
    approvalRoute({ ...options.approvals, tokenGates, body }),
    refusePath, // 404 before 401: an unknown path asks for no credentials
  ]
  return (arrival, reply) => {
    for (const gate of gates) {
      const result = gate(arrival, reply)
      if (result !== 'pass') return result === 'answered' ? undefined : result
    }
    return undefined
  }
}

const methods = new Set(['GET', 'POST', 'DELETE'])
const allow = [...methods].join(', ')

const checkMethod: Gate = ({ method }, reply) => {
  if (methods.has(method)) return 'pass'
  refuse(reply, 405, `Method ${method} is not allowed here`, { headers: { allow } })
  return 'answered'
}

const refusePath: Gate = ({ path }, reply) => {
  refuse(reply, 404, `Nothing is served at ${path}`)
  return 'answered'
}
