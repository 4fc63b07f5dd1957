import http, { type AgentOptions } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Egress } from './egress.ts'

export type GuardedAgents = Readonly<Record<'http:' | 'https:', http.Agent>>

/**
 * Connection pools whose every connection is decided by `egress`. A pooled connection is reused for
 * the same host and port only, and stays with the address that was checked.
 */
export function createGuardedAgents(egress: Egress, options: AgentOptions): GuardedAgents {
  const guardedOptions = { ...options, lookup: egress.lookup }
  return {
    'http:': withLiteralCheck(new http.Agent(guardedOptions), egress),
    'https:': withLiteralCheck(new https.Agent(guardedOptions), egress),
  }
}

/** Sockets do not look up hosts that are addresses, so these are checked here. */
function withLiteralCheck(agent: http.Agent, egress: Egress): http.Agent {
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) => {
    const refusal = egress.checkLiteral(options.host ?? '')
    if (!refusal) return connect(options, callback)
    callback?.(refusal, undefined as unknown as Socket)
    return undefined
  }
  return agent
}
