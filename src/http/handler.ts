import type { HttpReply } from '../mcp/http-port.ts'
import { type ApprovalRoutes, approvalRoute } from './approvals/approval-routes.ts'
import type { Arrival } from './arrival.ts'
import type { Identify } from './callers.ts'
import { type Frames, frameRoute } from './frames/frame-route.ts'
import type { Gate } from './gate.ts'
import { allowOrigin, answerPreflight, checkAddress, checkMethod, refusePath } from './gates.ts'
import type { Guard } from './guard.ts'
import { healthRoute } from './health-route.ts'
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
  /** The largest request body in bytes. */
  readonly bodyLimit: number
  readonly approvals: ApprovalRoutes
  readonly frames: Frames
  /** The body of `GET /health`. */
  readonly health: () => object
}

export type Handler = (arrival: Arrival, reply: HttpReply) => Promise<void>

/** The front door: every request passes these gates top to bottom until one of them answers. */
export function createHandler(options: HandlerOptions): Handler {
  const { records, identify, bodyLimit } = options
  const gates: readonly Gate[] = [
    checkAddress(options.guard), // first: DNS rebinding and CSRF are stopped on every path
    allowOrigin, // CORS headers, so that a page can also read the refusals below
    answerPreflight, // browsers send OPTIONS without credentials
    recordsRoute(records, bodyLimit), // before the method check: it has its own methods and error format
    checkMethod, // 405 before 404, on every other path
    healthRoute(options.health), // without credentials: load balancers have none
    refuseOwnerTokens(records.tokenGates), // before any path is looked up, also on unknown ones
    // Each route below authenticates its own callers. Mounts come first: they are the hot path.
    mcpRoute({ endpoints: options.mounts, tokenGates: records.tokenGates, identify, bodyLimit }),
    frameRoute({ frames: options.frames, identify, bodyLimit }),
    approvalRoute(options.approvals, identify),
    refusePath, // 404 before 401: an unknown path asks for no credentials
  ]
  return async (arrival, reply) => {
    for (const gate of gates) {
      const passage = gate(arrival, reply)
      if (passage !== 'pass') return passage === 'answered' ? undefined : passage
    }
  }
}
