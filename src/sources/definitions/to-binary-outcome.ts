import type { Content } from '../../capability/content.ts'
import type { Done } from '../../capability/outcome.ts'
import { toBytes } from '../../json/plain-form.ts'

/**
 * Bytes as the whole result are one content block: an image, audio, or an embedded document. A Blob has
 * its media type; other bytes are recognised by their signature. `undefined` for other results.
 */
export function toBinaryOutcome(result: unknown): Done | Promise<Done> | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  if (result instanceof Blob) {
    const name = result instanceof File && result.name !== '' ? result.name : undefined
    if (result.type !== '') return toDone(result, { mimeType: result.type, name })
    const start = result.slice(0, signatureLength).arrayBuffer()
    return start.then((buffer) =>
      toDone(result, { mimeType: recognise(new Uint8Array(buffer)), name }),
    )
  }
  const bytes = toBytes(result)
  return bytes && toDone(bytes, { mimeType: recognise(bytes) })
}

interface Description {
  readonly mimeType: string
  readonly name?: string | undefined
}

function toDone(bytes: Uint8Array | Blob, { mimeType, name = 'result' }: Description): Done {
  // The check of results writes base64: it compares the size with the limit before it reads the bytes.
  const live: unknown = bytes
  const data = live as string
  const [family] = mimeType.split('/')
  const block: Content =
    family === 'image' || family === 'audio'
      ? { type: family, data, mimeType }
      : {
          type: 'resource',
          resource: { uri: `attachment:${encodeURIComponent(name)}`, mimeType, blob: data },
        }
  return { kind: 'done', content: [block] }
}

const signatureLength = 12

/** Formats that models read, by their first bytes. */
const signatures: readonly (readonly [pattern: RegExp, mimeType: string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^RIFF.{4}WAVE/s, 'audio/wav'],
  [/^ID3|^\xff[\xfb\xf3\xf2]/, 'audio/mpeg'],
  [/^OggS/, 'audio/ogg'],
  [/^%PDF-/, 'application/pdf'],
]

function recognise(bytes: Uint8Array): string {
  const start = String.fromCharCode(...bytes.subarray(0, signatureLength))
  const known = signatures.find(([pattern]) => pattern.test(start))
  return known?.[1] ?? 'application/octet-stream'
}
