import type { Config } from '../config/config-shape.ts'

/** How long the ledger keeps ended runs and executions. */
export const toRetention = ({ keys, duplicates, executions }: Config['policy']) => ({
  keepRunsMs: Math.max(keys.window, duplicates.window) * 1000,
  keepExecutionsMs: executions.keep * 1000,
})
