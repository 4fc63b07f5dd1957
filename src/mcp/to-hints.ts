import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { Capability } from '../capability/capability.ts'

/** The only place where MCP hints are made. */
export const toHints = ({ title, effects, rules }: Capability): ToolAnnotations => ({
  ...(title !== undefined && { title }),
  readOnlyHint: !effects.writes,
  // A write that somebody has to confirm is one that a host should warn about.
  destructiveHint: effects.irreversible || (effects.writes && rules.approval),
  idempotentHint: effects.repeatable,
  openWorldHint: effects.reachesOut,
})
