import type { JsonObject } from '../../capability/json.ts'
import type { ValidManifest } from './reading/read-manifest.ts'

/** Fields about the agent as a whole, sent as an extension of the server's capabilities. */
export function toExtension(manifest: ValidManifest): JsonObject {
  const { identity, interfaces, requirements, extensions, substituted } = manifest
  const { owner, type, tags } = identity
  const mcpInterface = interfaces.find(({ protocol }) => protocol === 'MCP')
  const { secrets, ...publicRequirements } = requirements ?? {}
  const { index, endpoint, ...publicInterface } = mcpInterface ?? { index: 0 }
  return toPlainJson({
    schema_version: manifest.schema_version,
    identity: { owner, type, tags },
    requirements: Object.keys(publicRequirements).length > 0 ? publicRequirements : undefined,
    interface: mcpInterface && publicInterface,
    trust: substituted.has('trust') ? undefined : manifest.trust,
    composition: manifest.composition,
    runtime: substituted.has('runtime') ? undefined : manifest.runtime,
    provenance: manifest.provenance,
    ...extensions.get(''),
    ...toSectionExtensions(extensions),
  })
}

/** Server extensions that the manifest mapping names itself. */
export const toNamedExtensions = ({ composition }: ValidManifest): Record<string, JsonObject> =>
  composition ? { 'agenthub.composition': toPlainJson(composition) } : {}

/** Approved extension fields below the root, by the JSON pointer of their section. */
export function toSectionExtensions(extensions: ReadonlyMap<string, JsonObject>): JsonObject {
  const others = [...extensions].filter(
    ([pointer]) => pointer !== '' && !/^\/capabilities\/\d+$/.test(pointer),
  )
  return others.length === 0 ? {} : { extensions: Object.fromEntries(others) }
}

/** `JSON.stringify` omits undefined fields. */
export const toPlainJson = (value: object): JsonObject =>
  JSON.parse(JSON.stringify(value)) as JsonObject
