import type { Tool } from '@modelcontextprotocol/server'
import type { Capability } from '../capability/capability.ts'
import type { Rules } from '../capability/rules.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { toHints } from './to-hints.ts'
import { toolMeta } from './wire-names.ts'

export function toTool({ capability, fingerprint }: Entry<Capability>): Tool {
  const { name, title, description, input, output, effects, extras, origin } = capability
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: input.schema as Tool['inputSchema'],
    ...(output && { outputSchema: output.schema as NonNullable<Tool['outputSchema']> }),
    annotations: toHints(capability),
    _meta: {
      [toolMeta.origin]: origin,
      [toolMeta.effects]: effects,
      ...toRulesMeta(capability.rules),
      [toolMeta.fingerprint]: fingerprint,
      ...(Object.keys(extras).length > 0 && { [toolMeta.extras]: extras }),
    },
  }
}

/** Only what is in force: most capabilities have no rules, and every list carries them all. */
function toRulesMeta({ permissions, approval, idempotencyKey, timeout }: Rules): object {
  const inForce = {
    ...(permissions.length > 0 && { permissions }),
    ...(approval && { approval }),
    ...(idempotencyKey && { idempotencyKey }),
    ...(timeout !== undefined && { timeout }),
  }
  return Object.keys(inForce).length > 0 ? { [toolMeta.rules]: inForce } : {}
}
