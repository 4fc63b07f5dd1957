import type { JsonObject } from '../../capability/json.ts'
import type { ValidManifest } from './reading/read-manifest.ts'

/** What the manifest says of the agent as a whole, and no tool has a place for. */
export function toExtension(manifest: ValidManifest): JsonObject {
  const { identity, interfaces, requirements, extensions } = manifest
  const { owner, type, tags } = identity
  const first = interfaces.find(({ protocol }) => protocol === 'MCP')
  const { secrets, ...shown } = requirements ?? {}
  const { index, endpoint, ...entrance } = first ?? { index: 0 }
  return toPlain({
    schema_version: manifest.schema_version,
    identity: { owner, type, ...(tags && { tags }) },
    ...(Object.keys(shown).length > 0 && { requirements: shown }),
    ...(first && { interface: entrance }),
    trust: manifest.trust,
    ...(manifest.composition && { composition: manifest.composition }),
    runtime: manifest.runtime,
    ...(manifest.provenance && { provenance: manifest.provenance }),
    ...extensions.get(''),
    ...inSections(extensions),
  })
}

/** Approved fields stand in the section they were written in. */
function inSections(extensions: ReadonlyMap<string, JsonObject>): JsonObject {
  const others = [...extensions].filter(
    ([pointer]) => pointer !== '' && !/^\/capabilities\/\d+$/.test(pointer),
  )
  return others.length === 0 ? {} : { extensions: Object.fromEntries(others) }
}

const toPlain = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject

export interface Dropped {
  readonly pointer: string
  readonly message: string
}

/** Whatever is written and reaches no client, with its place: nothing is lost in silence. */
export function toDropped(manifest: ValidManifest, offered: ReadonlySet<number>): Dropped[] {
  const { capabilities, interfaces, requirements } = manifest
  const first = interfaces.find(({ protocol }) => protocol === 'MCP')
  return [
    ...capabilities
      .filter(({ index }) => !offered.has(index))
      .map(({ index, id, protocols }) => ({
        pointer: `/capabilities/${index}`,
        message: `${id} is offered over ${protocols.join(', ')} and not over MCP.`,
      })),
    ...interfaces
      .filter(({ index }) => index !== first?.index)
      .map(({ index, name, protocol }) => ({
        pointer: `/interfaces/${index}`,
        message:
          protocol === 'MCP'
            ? `${name} is not the first MCP interface; clients are told of the first.`
            : `${name} speaks ${protocol}; clients are told of the first MCP interface alone.`,
      })),
    ...(requirements?.secrets
      ? [
          {
            pointer: '/requirements/secrets',
            message: 'Where secrets lie is nothing a client needs to know.',
          },
        ]
      : []),
  ]
}
