import type {
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/server'
import type { View } from '../capability/capability.ts'
import type { Document } from '../capability/content.ts'
import type { Done } from '../capability/outcome.ts'
import type { Entry } from '../catalog/snapshot.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { toOrigin } from './to-origin.ts'
import { toolMeta } from './wire-names.ts'

export const toResource = (entry: Entry<View>): Resource => ({
  uri: entry.capability.uri,
  ...toDescription(entry),
})

export const toTemplate = (entry: Entry<View>): ResourceTemplateType => ({
  uriTemplate: entry.capability.uri,
  ...toDescription(entry),
})

const toDescription = ({ capability, fingerprint }: Entry<View>) =>
  dropUndefined({
    name: capability.name,
    title: capability.title,
    description: capability.description,
    mimeType: capability.mimeType,
    _meta: dropUndefined({
      [toolMeta.origin]: toOrigin(capability.origin),
      [toolMeta.schema]: capability.output?.schema,
      [toolMeta.fingerprint]: fingerprint,
    }),
  })

/** The documents of a view's answer, or its data as one document. */
export function toContents(outcome: Done, view: View, uri: string): ReadResourceResult['contents'] {
  const documents = (outcome.content ?? []).flatMap((block) =>
    block.type === 'resource' ? [toDocument(block.resource, view)] : [],
  )
  if (documents.length > 0 || outcome.data === undefined) return documents
  const { data } = outcome
  const mimeType = view.mimeType ?? (typeof data === 'string' ? 'text/plain' : 'application/json')
  return [{ uri, mimeType, text: typeof data === 'string' ? data : JSON.stringify(data) }]
}

function toDocument({ uri, mimeType, text, blob }: Document, view: View) {
  const document = dropUndefined({ uri, mimeType: mimeType ?? view.mimeType })
  return blob === undefined ? { ...document, text: text ?? '' } : { ...document, blob }
}
