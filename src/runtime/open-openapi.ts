import path from 'node:path'
import type { z } from 'zod'
import { checkOptionNames } from '../capability/check-option-names.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import type { Effects } from '../capability/effects.ts'
import type { Source } from '../capability/source.ts'
import type { DocumentText } from '../openapi/read-document.ts'
import { listSecretValues, type SchemeSecret } from '../openapi/security/secrets.ts'
import { openApiSourceFrom } from '../sources/openapi/openapi-source.ts'
import type { Selector } from '../sources/openapi/select-operations.ts'
import type { GuardedFetch } from '../upstream/egress/guarded-fetch.ts'
import { fetchPinned } from '../upstream/http/fetch-pinned.ts'
import { toOptionsError } from './config/check-options.ts'
import { openApiOptionsShape, type SourceConfig } from './config/config-shape.ts'
import type { SourceContext } from './open-sources.ts'
import { type OnFile, readBounded, readOpenApiFile } from './read-openapi-text.ts'

export type { SchemeSecret, Selector }

/** Options of `openApiSource`. */
export interface OpenApiSourceOptions {
  /** Id of the source in diagnostics and origins. Default: the location of the document. */
  readonly id?: string
  /** Hash of a document at a URL (`sha256:…`); required there. */
  readonly digest?: string
  /** Operations to serve; a text is a pattern for their ids. Default: all. */
  readonly include?: readonly (Selector | string)[]
  /** Operations not to serve. Default: none. */
  readonly exclude?: readonly (Selector | string)[]
  /** Path of an OpenAPI Overlay, applied to the document. Default: none. */
  readonly overlay?: string
  /** Base URL of the API. Default: the first server of the document. */
  readonly server?: string
  /** Values of variables in the server URLs of the document. Default: those of the document. */
  readonly variables?: Readonly<Record<string, string>>
  /** Overrides what HTTP methods imply, by id of an operation; `*` stands for any characters. */
  readonly effects?: Readonly<Record<string, Partial<Effects>>>
  /** Secrets by the name of the security scheme, each with the host that may get it. Default: none. */
  readonly secrets?: Readonly<Record<string, SchemeSecret>>
  /** Shows and enforces the schemas of responses. Default: `false`. */
  readonly outputs?: boolean
}

/**
 * A source that serves the operations of an OpenAPI document (3.0, 3.1 or Swagger 2.0), a file or an
 * https URL.
 *
 * @example
 * ```ts
 * import { createDrawbridge, openApiSource } from 'drawbridge-mcp'
 *
 * const pets = openApiSource('./pets.yaml', {
 *   include: [{ tag: 'pets' }],
 *   secrets: { apiKey: { host: 'pets.example', value: process.env.PETS_KEY ?? '' } },
 * })
 * const bridge = createDrawbridge({ sources: [pets] })
 * ```
 */
export function openApiSource(location: string, options: OpenApiSourceOptions = {}): Source {
  checkOptionNames(options, openApiOptionsShape.shape)
  const { data, error } = openApiOptionsShape.safeParse(options)
  if (error) throw toOptionsError(error.issues)
  return toSource(location, data, { folder: process.cwd(), onFile: () => {}, diagnostics: [] })
}

type OpenApiConfig = Extract<SourceConfig, { openapi: string }>
type Options = z.output<typeof openApiOptionsShape>

export function openOpenApi(
  { openapi: location, mount: _mount, prefix: _prefix, ...options }: OpenApiConfig,
  { loader, folder, environment, unset }: SourceContext,
): Source {
  // Placeholders of unset variables are not in the environment either.
  const secrets = Object.entries(options.secrets).filter(([, secret]) => !unset?.areIn(secret))
  return toSource(location, options, {
    folder,
    onFile: (file) => loader.watchFile(file),
    diagnostics: findLiteralSecrets(location, Object.fromEntries(secrets), environment),
  })
}

interface ReadContext {
  /** Base of relative paths. */
  readonly folder: string
  /** Receives every file that is read. */
  readonly onFile: OnFile
  readonly diagnostics: readonly Diagnostic[]
}

function toSource(location: string, options: Options, context: ReadContext): Source {
  const { digest, overlay, id = location, ...others } = options
  return openApiSourceFrom({
    ...others,
    id,
    diagnostics: context.diagnostics,
    steadyNow: () => performance.now(),
    read: async (fetch) => ({
      ...(await readLocation(location, digest, fetch, context)),
      overlay: await readOverlayText(overlay, context),
    }),
  })
}

const maxBytes = 32 * 1024 * 1024
const timeoutMs = 20_000

async function readLocation(
  location: string,
  digest: string | undefined,
  fetch: GuardedFetch,
  context: ReadContext,
): Promise<DocumentText> {
  if (/^https?:/i.test(location)) {
    const text = await fetchPinned(location, digest, { fetch, maxBytes, timeoutMs })
    return { text, file: location, url: location }
  }
  return readOpenApiFile(path.resolve(context.folder, location), context.onFile)
}

async function readOverlayText(overlay: string | undefined, context: ReadContext) {
  if (overlay === undefined) return undefined
  const file = path.resolve(context.folder, overlay)
  return { text: await readBounded(file, context.onFile), file }
}

function findLiteralSecrets(
  source: string,
  secrets: Readonly<Record<string, SchemeSecret>>,
  environment: SourceContext['environment'],
): readonly Diagnostic[] {
  const values = new Set(Object.values(environment))
  return Object.entries(secrets).flatMap(([name, secret]): Diagnostic[] =>
    listSecretValues(secret).every((value) => value === '' || values.has(value))
      ? []
      : [
          {
            code: 'literal_secret',
            severity: 'warning',
            message: `The secret of ${name} is written in the configuration. Move it to the environment: env://NAME.`,
            source,
            pointer: `/secrets/${name}`,
          },
        ],
  )
}
