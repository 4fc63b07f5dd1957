import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Effects } from '../../capability/effects.ts'
import { isFault } from '../../capability/fault.ts'
import type { About, Reading } from '../../capability/source.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { fromPointer } from '../../json/from-pointer.ts'
import { Api } from '../../openapi/api.ts'
import { ApiClient } from '../../openapi/api-client.ts'
import type { OpenApiDocument } from '../../openapi/document.ts'
import { type DocumentText, readDocument } from '../../openapi/read-document.ts'
import type { SchemeSecrets } from '../../openapi/security/secrets.ts'
import type { ServerChoice } from '../../openapi/servers.ts'
import { type GuardedFetch, toGuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import type { UpstreamSource } from '../../upstream/egress/upstream-source.ts'
import { CapabilityLoader } from './capability-loader.ts'
import { type Selector, selectOperations } from './select-operations.ts'

export interface OpenApiOptions extends ServerChoice {
  /** Names the source in diagnostics, audit and `_meta`. */
  readonly id: string
  /** Reads the document; rejects with a message for the operator. */
  readonly read: (fetch: GuardedFetch) => Promise<DocumentText>
  readonly include: readonly Selector[]
  readonly exclude: readonly Selector[]
  /** By the id of the operation, or a pattern in which `*` stands for any characters. */
  readonly effects: Readonly<Record<string, Partial<Effects>>>
  readonly secrets: SchemeSecrets
  /** Shows and enforces the schemas of responses. */
  readonly outputs: boolean
  readonly steadyNow: () => number
  /** Found while the options were read. */
  readonly diagnostics: readonly Diagnostic[]
}

/** A source of the operations of an OpenAPI document, called as the document says. */
export function openApiSourceFrom(options: OpenApiOptions): UpstreamSource {
  const client = new ApiClient(options.steadyNow)
  let loader: CapabilityLoader | undefined
  return {
    id: options.id,
    async read() {
      const document = await tryRead(options, client)
      if (isFault(document)) return { capabilities: [], diagnostics: document.fault }
      loader = new CapabilityLoader(options, client, document)
      return toReading(options, document, loader)
    },
    connectUpstreams: (host) => client.connect(host),
    destinations: ({ origin }) => loader?.destinations(origin.pointer) ?? [],
    probe: async (schedule) => (await loader?.probe(schedule)) ?? [],
    close: async () => client.close(),
  }
}

async function tryRead(
  options: OpenApiOptions,
  client: ApiClient,
): Promise<OpenApiDocument | { readonly fault: readonly Diagnostic[] }> {
  const text = await options.read(toGuardedFetch(client.host.egress))
  const document = await readDocument(text)
  if (!isFault(document)) return document
  return {
    fault: document.fault.map(({ at, message }) => ({
      code: 'openapi_invalid',
      severity: 'error',
      message,
      source: options.id,
      pointer: '',
      at,
    })),
  }
}

function toReading(
  options: OpenApiOptions,
  document: OpenApiDocument,
  loader: CapabilityLoader,
): Reading {
  const api = new Api(document, options)
  loader.reportFindings(api.findings)
  for (const { at, message } of document.overlayProblems)
    loader.reportAt(at, 'overlay_unmatched', message)
  const { operations, unmatched } = selectOperations(api.operations, options)
  for (const { list, index } of unmatched)
    loader.report(
      // An exclusion protects: a renamed operation must not be served unnoticed.
      list === 'exclude' ? 'error' : 'warning',
      'selector_unmatched',
      [],
      `${list}[${index}] matches no operation of the document: ${JSON.stringify(options[list][index])}.`,
    )
  if (operations.length === 0)
    loader.report('error', 'openapi_empty', ['paths'], 'No operation is served: none is selected.')
  const capabilities = operations.flatMap((operation): Capability[] => {
    const capability = loader.load(api.toTarget(operation))
    return capability ? [capability] : []
  })
  loader.finish(api)
  return {
    capabilities,
    diagnostics: [...options.diagnostics, ...loader.diagnostics],
    about: toAbout(document),
    positionOf: (pointer) => document.at(fromPointer(pointer)),
  }
}

function toAbout({ root, version, digest }: OpenApiDocument): About {
  const info = (root.info ?? {}) as Readonly<Record<string, unknown>>
  const [title, apiVersion, description] = [info.title, info.version, info.description].map(
    (one) => (typeof one === 'string' || typeof one === 'number' ? String(one).trim() : ''),
  )
  const name = (title ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  return {
    name: name || 'openapi',
    version: apiVersion || '0.0.0',
    ...dropUndefined({ title: title || undefined, description: description || undefined }),
    extension: { openapi: version, digest: `sha256:${digest}` },
  }
}
