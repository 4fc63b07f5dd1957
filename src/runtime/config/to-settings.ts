import type { Settings } from '../../governance/pipeline.ts'
import { loopbackHosts } from '../../http/guard.ts'
import type { configShape } from './config-shape.ts'

type Config = ReturnType<typeof configShape.parse>

/** Converts the seconds of the configuration to milliseconds. */
export const toSettings = ({
  mode,
  limits,
  keys,
  duplicates,
  approvals,
}: Config['policy']): Settings => ({
  observes: mode === 'observe',
  timeout: limits.timeout,
  resultSize: limits.resultSize,
  windows: { key: keys.window * 1000, duplicate: duplicates.window * 1000 },
  approvals: { asked: approvals.asked * 1000, pending: approvals.pending * 1000 },
})

/** The address that the server listens on is always an allowed host. */
export const toGuardOptions = ({ host, hosts, origins }: Config['http']) => ({
  hosts: [...loopbackHosts, host, ...hosts],
  origins,
})

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
