import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { Capability } from '../capability/capability.ts'
import { dropUndefined } from '../json/drop-undefined.ts'

/** MCP's tool annotations, derived from effects and rules here alone. */
export const toHints = ({ title, effects, rules }: Capability): ToolAnnotations =>
  dropUndefined({
    title,
    readOnlyHint: !effects.writes,
    // Hosts should also warn about writes that need an approval.
    destructiveHint: effects.irreversible || (effects.writes && rules.approval),
    idempotentHint: effects.repeatable,
    openWorldHint: effects.reachesOut,
  })
