import type { JsonObject } from '../../capability/json.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { parseJson } from '../../json/parse-json.ts'
import { lexicalScore } from '../../sources/records/answers/search-answer.ts'
import { defaultLimit, maxRecords } from '../../sources/records/query/record-page.ts'
import type { Arrival } from '../arrival.ts'
import { isJson } from '../content-type.ts'
import { toOrigin } from './grant-callers.ts'
import type { RecordsApi } from './records-api.ts'
import type { RecordsReply } from './records-reply.ts'

/** The document at a well-known path; `resources` are the paths that may follow it. */
export function toMetadata(
  { headers, path }: Arrival,
  resources: ReadonlySet<string>,
): JsonObject | undefined {
  const [, kind, resource = ''] = /^\/\.well-known\/oauth-([a-z-]+)(\/.*)?$/.exec(path) ?? []
  if (!resources.has(resource)) return undefined
  const origin = toOrigin(headers)
  if (kind === 'authorization-server') return toServerMetadata(origin)
  return kind === 'protected-resource' ? toResourceMetadata(origin, resource) : undefined
}

/** RFC 9728, OAuth 2.0 Protected Resource Metadata. */
function toResourceMetadata(origin: string, path: string): JsonObject {
  const isMount = path !== '' && path !== '/v1'
  return dropUndefined({
    resource: `${origin}${path}`,
    authorization_servers: [origin],
    bearer_methods_supported: ['header'],
    pdpp_core_query_base: `${origin}/v1`,
    pdpp_token_kinds_supported: ['client', 'mcp_package'],
    pdpp_discovery_hints: {
      schema_endpoint: `${origin}/v1/schema`,
      streams_endpoint: `${origin}/v1/streams`,
      aggregate_endpoint: `${origin}/v1/streams/{stream}/aggregate`,
      search_endpoint: `${origin}/v1/search`,
      changes_since_bootstrap: 'beginning',
      filter_requires_single_stream: true,
      hybrid_pagination_supported: false,
    },
    capabilities: {
      lexical_retrieval: {
        supported: true,
        endpoint: `${origin}/v1/search`,
        default_limit: defaultLimit,
        max_limit: maxRecords,
        cursor_supported: true,
        snippets: true,
        score: lexicalScore,
      },
      semantic_retrieval: { supported: false },
      hybrid_retrieval: { supported: false },
    },
    pdpp_agent_discovery: isMount
      ? {
          mcp: {
            transport: 'streamable_http',
            endpoint: `${origin}${path}`,
            setup_intent: 'grant_scoped_read',
            tool_surface: 'profile_free_normal_read',
            no_owner_token: true,
          },
        }
      : undefined,
  })
}

/** RFC 8414, without any grant type: tokens come from the owner's command line, not from this server. */
function toServerMetadata(origin: string): JsonObject {
  return {
    issuer: origin,
    introspection_endpoint: `${origin}/introspect`,
    introspection_endpoint_auth_methods_supported: ['none'],
    response_types_supported: [],
    grant_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    pdpp_authorization_details_types_supported: ['https://pdpp.org/data-access'],
    service_documentation: 'The owner creates tokens with: drawbridge grants create.',
  }
}

const maxFormBytes = 8192

/** RFC 7662 token introspection. It needs no credentials: tokens are too long to guess. */
export async function introspect(
  { tokenGates }: RecordsApi,
  arrival: Arrival,
  { send, fail }: RecordsReply,
): Promise<void> {
  const bytes = await arrival.readBytes(maxFormBytes, '')
  const token =
    typeof bytes === 'string'
      ? undefined
      : toToken(arrival.headers['content-type'], bytes.toString())
  if (token === undefined) return fail(400, 'invalid_request', 'The body must contain a token.')
  for (const tokenGate of tokenGates.values()) {
    const description = tokenGate.describe(token)
    if (description) return send(200, description)
  }
  return send(200, { active: false })
}

function toToken(contentType: string | undefined, text: string): string | undefined {
  if (!isJson(contentType)) return new URLSearchParams(text).get('token') ?? undefined
  const body = parseJson(text)
  return isPlainObject(body) && typeof body.token === 'string' ? body.token : undefined
}
