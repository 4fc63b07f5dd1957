import type { ValidManifest } from './reading/read-manifest.ts'

/** A part of a manifest that is not sent to clients. */
export interface DroppedField {
  readonly pointer: string
  readonly message: string
}

/**
 * Finds the valid fields that have no place in MCP; each becomes a `field_dropped` warning. Fields that
 * v0.1 does not define are reported by `reading/unknown-fields.ts`. The messages are part of the output
 * of `project`: a new wording changes bytes that users keep under version control.
 */
export function findDroppedFields(
  manifest: ValidManifest,
  servedIndices: ReadonlySet<number>,
): DroppedField[] {
  const { capabilities, interfaces, requirements } = manifest
  const mcpInterface = interfaces.find(({ protocol }) => protocol === 'MCP')
  return [
    ...capabilities
      .filter(({ index }) => !servedIndices.has(index))
      .map(({ index, id, protocols }) => ({
        pointer: `/capabilities/${index}`,
        message: `${id} is offered over ${protocols.join(', ')} and not over MCP.`,
      })),
    ...interfaces
      .filter(({ index }) => index !== mcpInterface?.index)
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
