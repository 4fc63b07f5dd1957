import { type Fault, isFault } from '../../../capability/fault.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { Api } from '../../../openapi/api.ts'
import type { DocumentPath } from '../../../openapi/document.ts'
import { type DocumentText, readDocument } from '../../../openapi/read-document.ts'
import { removeSecrets } from '../../../openapi/remove-secrets.ts'
import type { YamlFault } from '../../../yaml/read-yaml.ts'
import { writeYaml } from '../../../yaml/write-yaml.ts'
import { type Manifest, manifestShape } from '../reading/manifest-shape.ts'
import { toDraft } from './to-draft.ts'

export type AddReview = (path: DocumentPath, message: string) => void

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

export interface DraftOptions {
  /** Where the manifest finds the document, by which its HTTP interface is called. */
  readonly documentPath: string
  /** Copy the schemas of responses. Default: if they are not larger than the rest. */
  readonly outputs?: boolean | undefined
}

/** Drafts a manifest from an OpenAPI document; every guess gets a review note. */
export async function fromOpenApi(
  text: DocumentText,
  options: DraftOptions,
): Promise<OpenApiDraft | Fault<readonly YamlFault[]>> {
  const document = await readDocument(text)
  if (isFault(document)) return document
  const api = new Api(document, { secrets: {} })
  const notes: { path: DocumentPath; message: string }[] = []
  const review: AddReview = (path, message) => notes.push({ path, message })
  const { draft, faults } = toDraft(api, options, review)
  if (faults.length > 0)
    return { fault: faults.map(({ path, message }) => ({ at: document.at(path), message })) }
  const manifest = manifestShape.parse(
    removeSecrets(draft, (path) =>
      review(path, 'something that looked like a secret was removed here.'),
    ),
  )
  const head = `A draft from OpenAPI ${document.version}. Every "review:" marks a guess to confirm or correct.`
  const comments = notes.map(({ path, message }) => ({ path, text: `review: ${message}` }))
  return {
    manifest,
    reviews: notes.map(({ path, message }) => ({ path: toPointer(path), message })),
    yaml: writeYaml(manifest, { head, comments }),
  }
}
