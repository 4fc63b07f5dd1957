import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Snapshot } from '../../catalog/snapshot.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { lowerSchema } from './lower-schema.ts'
import type { SchemaProfileName } from './profiles.ts'

/** Tells the operator what clients do not see of the schemas that are enforced. */
export const diagnoseSchemas = (
  { capabilities, sources }: Snapshot,
  profile: SchemaProfileName,
): readonly Diagnostic[] =>
  [...capabilities.values()].flatMap(({ capability: { name, input, output, origin } }) =>
    [
      ...lowerSchema(input.schema, 'input', profile).losses.map((loss) => `input schema ${loss}`),
      ...(output ? lowerSchema(output.schema, 'output', profile).losses : []).map(
        (loss) => `output schema ${loss}`,
      ),
    ].map((text) =>
      dropUndefined({
        code: 'schema_lowered',
        severity: 'info' as const,
        message: `The ${text}. ${JSON.stringify(name)} enforces all of it; "schemas: full" of the mount shows all of it.`,
        source: origin.source,
        pointer: origin.pointer,
        at: sources.find(({ id }) => id === origin.source)?.positionOf?.(origin.pointer),
      }),
    ),
  )
