import path from 'node:path'
import { isFault } from '../capability/fault.ts'
import { SetupError } from '../capability/setup-error.ts'
import { fromOpenApi, type OpenApiDraft } from '../sources/manifest/openapi/from-openapi.ts'
import { readOpenApiFile } from './read-openapi-text.ts'

export interface ImportOptions {
  /** The file that the draft is written to: the document is referred to from its folder. */
  readonly out?: string | undefined
  readonly outputs?: boolean | undefined
}

/** Reads an OpenAPI document from a file; every error message names file, line and column. */
export async function importOpenApi(
  file: string,
  { out = 'agent.yaml', outputs }: ImportOptions,
): Promise<OpenApiDraft> {
  const text = await readOpenApiFile(file, () => {})
  const relative = path.relative(path.dirname(out), file).replaceAll(path.sep, '/')
  const documentPath = relative.startsWith('.') ? relative : `./${relative}`
  const reading = await fromOpenApi(text, { documentPath, outputs })
  if (isFault(reading))
    throw new SetupError(reading.fault.map(({ at, message }) => `${at} ${message}`).join('\n'))
  return reading
}
