import path from 'node:path'
import type { GovernanceSettings } from '../../governance/pipeline.ts'
import { loopbackHosts } from '../../http/host-guard.ts'
import { digestJson } from '../../json/digest-json.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { AuditOptions } from './config-options.ts'
import type { configShape } from './config-shape.ts'
import type { Configuration } from './find-config.ts'

/** Beyond it, every caller has an equal share. */
const totalConcurrentCalls = 2048

type Config = ReturnType<typeof configShape.parse>

/** Converts the windows of the configuration from seconds to milliseconds; the timeout is in milliseconds. */
export const toSettings = ({ rules, ...settings }: Config['policy']): GovernanceSettings => {
  const { mode, limits, keys, duplicates, approvals } = settings
  return {
    observeOnly: mode === 'observe',
    timeoutMs: limits.timeout,
    maxResultChars: limits.resultSize,
    concurrency: { perCaller: limits.concurrentCalls, total: totalConcurrentCalls },
    windows: { keyMs: keys.window * 1000, duplicateMs: duplicates.window * 1000 },
    approvals: { atClientMs: approvals.asked * 1000, elsewhereMs: approvals.pending * 1000 },
    // The rules are merged into the definitions.
    policyDigest: digestJson(settings),
  }
}

/** The address that the server listens on is always an allowed host. */
export const toGuardOptions = ({ host, hosts, origins }: Config['http']) => ({
  hosts: [...loopbackHosts, host, ...hosts],
  origins,
})

/** Paths in the configuration are relative to its folder. */
export function toAuditOptions({ config, folder }: Configuration): AuditOptions {
  const { checkpoints } = config.audit
  if (!checkpoints) return {}
  const { every, to } = checkpoints
  const target = 'file' in to ? { file: path.resolve(folder, to.file) } : dropUndefined(to)
  return { checkpoints: { every, to: target } }
}
