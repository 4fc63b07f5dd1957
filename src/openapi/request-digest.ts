import { hash } from 'node:crypto'
import { isFault } from '../capability/fault.ts'
import { byCodeUnit } from '../json/by-code-unit.ts'
import type { ApiTarget } from './api-client.ts'

/**
 * Digest of how a call becomes a request: where each argument is sent, in which form, and how the call is
 * authenticated. Approvals and `diff` compare it, because a document can change it and keep the schema.
 */
export function toRequestDigest({ operation, security }: ApiTarget): string {
  const { method, route, parameters, body, requiresKey } = operation
  const request = {
    method,
    route,
    requiresKey,
    parameters: parameters.map(({ name, argument, place, format }) => ({
      name,
      argument,
      place,
      format,
    })),
    body: body && {
      argument: body.argument,
      mediaType: body.mediaType,
      kind: body.kind,
      encodings: Object.entries(body.encodings).sort(([a], [b]) => byCodeUnit(a, b)),
      files: [...body.files.keys()].sort(),
    },
    security: isFault(security)
      ? []
      : security.map(({ name, scheme, scopes }) => ({ name, scheme, scopes })),
  }
  return hash('sha256', JSON.stringify(request), 'base64url')
}
