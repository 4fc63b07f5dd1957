import type { Prompt as McpPrompt } from '@modelcontextprotocol/server'
import type { Prompt } from '../capability/capability.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { toOrigin } from './to-origin.ts'
import { toolMeta } from './wire-names.ts'

export const toPrompt = ({ capability, fingerprint }: Entry<Prompt>): McpPrompt =>
  dropUndefined({
    name: capability.name,
    title: capability.title,
    description: capability.description,
    arguments: capability.parameters.map(({ name, description, required }) =>
      dropUndefined({ name, description, required }),
    ),
    _meta: { [toolMeta.origin]: toOrigin(capability.origin), [toolMeta.fingerprint]: fingerprint },
  })
