import { hash } from 'node:crypto'
import { type Fault, isFault } from '../capability/fault.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { YamlFault } from '../yaml/read-yaml.ts'
import { bundleFiles, type LoadFile, refersToFiles } from './bundle-files.ts'
import type { Fields, OpenApiDocument } from './document.ts'
import { applyOverlay, type OverlayResult, readOverlay } from './overlay.ts'
import { readText } from './read-text.ts'
import { fromSwagger } from './swagger/from-swagger.ts'

export interface DocumentText {
  readonly text: string
  /** Printed before line and column. */
  readonly file: string
  /** Reads the other files of a document; without it, references to them are faults where they occur. */
  readonly loadFile?: LoadFile | undefined
  /** The address that the text was fetched from. */
  readonly url?: string | undefined
  /** Applied to the document in one piece, before it is used. */
  readonly overlay?: OverlayText | undefined
}

export interface OverlayText {
  readonly text: string
  readonly file: string
}

/** Parses an OpenAPI document: JSON or YAML; Swagger 2.0 is converted, other files are bundled. */
export async function readDocument({
  text,
  file,
  loadFile,
  url,
  overlay,
}: DocumentText): Promise<OpenApiDocument | Fault<readonly YamlFault[]>> {
  const reading = readText(text, file)
  if (reading.faults.length > 0) return { fault: reading.faults }
  const toFault = (path: readonly string[], message: string) => ({
    fault: [{ at: reading.at(path), message }],
  })
  if (!isPlainObject(reading.value)) return toFault([], 'This is not an OpenAPI document.')
  const versioned = findVersion(reading.value)
  if (isFault(versioned)) return toFault(...versioned.fault)
  const { version } = versioned

  const digests = [hash('sha256', text)]
  let root: Fields = reading.value
  let unreadable: ReadonlyMap<string, string> = new Map()
  if (loadFile && refersToFiles(root)) {
    const bundled = await bundleFiles(root, file, loadFile)
    if (isFault(bundled)) return toFault([], bundled.fault)
    root = bundled.root
    unreadable = bundled.unreadable
    digests.push(...bundled.digests)
  }
  const converted = version === '2.0' ? await fromSwagger(root) : undefined
  if (converted && isFault(converted)) return toFault(['swagger'], converted.fault)
  if (converted) root = converted.root
  const revised = overlay && (await revise(root, overlay))
  if (revised && isFault(revised)) return revised
  if (overlay) digests.push(hash('sha256', overlay.text))
  return {
    root: revised?.root ?? root,
    version,
    isVersion30: version === '2.0' || /^3\.0(?:\.|$)/.test(version),
    digest: digests.length === 1 ? (digests[0] as string) : hash('sha256', digests.join()),
    overlayProblems: revised?.problems ?? [],
    unreadable,
    ...dropUndefined({ url }),
    at: (path) => reading.at(converted ? converted.toWrittenPath(path) : path),
  }
}

async function revise(
  root: Fields,
  { text, file }: OverlayText,
): Promise<OverlayResult | Fault<readonly YamlFault[]>> {
  const overlay = readOverlay(text, file)
  return isFault(overlay) ? overlay : applyOverlay(root, overlay)
}

function findVersion({
  openapi,
  swagger,
}: Fields): { readonly version: string } | Fault<readonly [readonly string[], string]> {
  if (typeof openapi === 'string' && /^3\.[01](?:\.|$)/.test(openapi)) return { version: openapi }
  // An unquoted 2.0 is a number in YAML.
  if (openapi === undefined && (swagger === '2.0' || swagger === 2)) return { version: '2.0' }
  if (openapi === undefined)
    return {
      fault: [
        [],
        'This is not an OpenAPI 3 or Swagger 2.0 document: the field "openapi" is missing.',
      ],
    }
  return {
    fault: [
      ['openapi'],
      `OpenAPI 3.0, 3.1 and Swagger 2.0 are supported, not ${JSON.stringify(openapi)}.`,
    ],
  }
}
