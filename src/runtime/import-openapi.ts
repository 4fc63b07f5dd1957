import { readFile } from 'node:fs/promises'
import { isFault } from '../capability/fault.ts'
import { SetupError } from '../capability/setup-error.ts'
import { fromOpenApi, type OpenApiDraft } from '../sources/manifest/openapi/from-openapi.ts'
import { toReadError } from './file-errors.ts'

/** Reads an OpenAPI document from a file; every error message names file, line and column. */
export async function importOpenApi(file: string): Promise<OpenApiDraft> {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw toReadError(file, error)
  })
  const reading = fromOpenApi(text, file)
  if (isFault(reading))
    throw new SetupError(reading.fault.map(({ at, message }) => `${at} ${message}`).join('\n'))
  return reading
}
