import type { Fault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { readYaml, type YamlFault } from '../../../yaml/read-yaml.ts'
import { writeYaml } from '../../../yaml/write-yaml.ts'
import { type Manifest, manifestShape } from '../reading/manifest-shape.ts'
import { type DocumentPath, OpenApiDocument } from './openapi-document.ts'
import { toDraft } from './to-draft.ts'

/** A draft manifest with notes for the person who reviews it. */
export interface OpenApiDraft {
  readonly manifest: Manifest
  readonly reviews: readonly DraftReview[]
  /** The manifest as YAML, with every review as a comment above its field. */
  readonly yaml: string
}

export interface DraftReview {
  /** JSON pointer into the manifest. */
  readonly path: string
  readonly message: string
}

export type OpenApiReading = OpenApiDraft | Fault<readonly YamlFault[]>

/** Drafts a manifest from an OpenAPI 3.0 or 3.1 document; every guess gets a review note. */
export function fromOpenApi(text: string, file: string): OpenApiReading {
  const reading = readYaml(text, file)
  if (reading.faults.length === 0 && !isPlainObject(reading.value))
    return { fault: [{ at: reading.at([]), message: 'This is not an OpenAPI document.' }] }
  const document = new OpenApiDocument(reading)
  if (document.faults.length > 0) return { fault: document.faults }
  const notes: { path: DocumentPath; message: string }[] = []
  const draft = toDraft(document, (path, message) => notes.push({ path, message }))
  if (document.faults.length > 0) return { fault: document.faults }
  const manifest = manifestShape.parse(draft)
  const head = `A draft from OpenAPI ${document.version}. Every "review:" marks a guess to confirm or correct.`
  const comments = notes.map(({ path, message }) => ({ path, text: `review: ${message}` }))
  return {
    manifest,
    reviews: notes.map(({ path, message }) => ({ path: toPointer(path), message })),
    yaml: writeYaml(manifest, { head, comments }),
  }
}
