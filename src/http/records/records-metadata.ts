import { isPlainObject, type JsonObject } from '../../capability/json.ts'
import { lexicalScore } from '../../sources/records/answers/search-answer.ts'
import { defaultLimit, maxRecords } from '../../sources/records/query/record-page.ts'
import type { Arrival } from '../handler.ts'
import { toOrigin } from './grant-callers.ts'
import type { Answerer } from './records-answerer.ts'
import type { RecordsApi } from './records-routes.ts'

/** The document at a well-known address, of all or of one of these places. */
export function toMetadata(
  { headers, path }: Arrival,
  places: ReadonlySet<string>,
): JsonObject | undefined {
  const [, kind, place = ''] = /^\/\.well-known\/oauth-([a-z-]+)(\/.*)?$/.exec(path) ?? []
  if (!places.has(place)) return undefined
  const origin = toOrigin(headers)
  if (kind === 'authorization-server') return toServerMetadata(origin)
  return kind === 'protected-resource' ? toResourceMetadata(origin, place) : undefined
}

/** RFC 9728: what is here to be read, and with which tokens. */
function toResourceMetadata(origin: string, mount: string): JsonObject {
  return {
    resource: `${origin}${mount}`,
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
    ...(mount !== '' &&
      mount !== '/v1' && {
        pdpp_agent_discovery: {
          mcp: {
            transport: 'streamable_http',
            endpoint: `${origin}${mount}`,
            setup_intent: 'grant_scoped_read',
            tool_surface: 'profile_free_normal_read',
            no_owner_token: true,
          },
        },
      }),
  }
}

/** RFC 8414, as far as there is such a thing: the owner gives tokens out, and nobody asks for one here. */
function toServerMetadata(origin: string): JsonObject {
  return {
    issuer: origin,
    introspection_endpoint: `${origin}/introspect`,
    introspection_endpoint_auth_methods_supported: ['none'],
    response_types_supported: [],
    grant_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    pdpp_authorization_details_types_supported: ['https://pdpp.org/data-access'],
    service_documentation: 'Tokens are given out by their owner: drawbridge grants create.',
  }
}

const longestForm = 8192

/** RFC 7662: what a token is. Whoever has it may know; nobody can guess one. */
export async function introspect(
  { doors }: RecordsApi,
  arrival: Arrival,
  { send, fail }: Answerer,
): Promise<void> {
  const text = await arrival.readBody(longestForm)
  const token = text === undefined ? undefined : toToken(arrival.headers['content-type'], text)
  if (token === undefined) return fail(400, 'invalid_request', 'The body must say which token.')
  for (const door of doors.values()) {
    const said = door.describe(token)
    if (said) return send(200, said)
  }
  return send(200, { active: false })
}

function toToken(type: string | undefined, text: string): string | undefined {
  if (!/^application\/json\b/i.test(type ?? ''))
    return new URLSearchParams(text).get('token') ?? undefined
  try {
    const body: unknown = JSON.parse(text)
    return isPlainObject(body) && typeof body.token === 'string' ? body.token : undefined
  } catch {
    return undefined
  }
}
