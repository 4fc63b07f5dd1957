import { hash } from 'node:crypto'
import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Contract } from '../../capability/contract.ts'
import type { Effects } from '../../capability/effects.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { noRules } from '../../capability/rules.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { toPointer } from '../../json/to-pointer.ts'
import type { ApiClient, ApiTarget } from '../../openapi/api-client.ts'
import { methodEffects } from '../../openapi/methods.ts'
import { toRequestDigest } from '../../openapi/request-digest.ts'
import type { SchemeUse } from '../../openapi/security/schemes.ts'
import { toServerText } from '../../openapi/servers.ts'
import { toOutcome } from '../../upstream/to-outcome.ts'

export interface CapabilityParts {
  readonly source: string
  readonly target: ApiTarget
  readonly client: ApiClient
  readonly input: Contract
  readonly output: Contract | undefined
  readonly effects: Partial<Effects>
}

/** An operation as a capability: its method decides the effects, its security the permissions. */
export function toCapability({
  source,
  target,
  client,
  input,
  output,
  effects: overrides,
}: CapabilityParts): Capability {
  const { operation } = target
  const { id, method, route, summary, description, tags, isDeprecated } = operation
  const label = `${method.toUpperCase()} ${route}`
  const effects = { ...methodEffects[method], ...overrides }
  return Object.freeze({
    ...toNames(id),
    ...dropUndefined({ title: summary || undefined }),
    description: description || summary || `Calls ${label}.`,
    input,
    ...dropUndefined({ output }),
    effects,
    rules: { ...noRules, permissions: toPermissions(target) },
    origin: { source, pointer: toPointer(operation.path) },
    extras: dropUndefined({ http: label, tags: tags.length > 0 ? tags : undefined }),
    destination: toDestination(target),
    ...dropUndefined({ hidden: isDeprecated || undefined }),
    invoke: async (call: Call) =>
      toOutcome(
        await client.call(target, {
          input: call.input,
          accepts: (value) => isAccepted(input, value),
          cancellation: call.cancellation,
          writes: effects.writes,
          hasOutputSchema: output !== undefined,
          idempotencyKey: call.idempotencyKey ?? (operation.requiresKey ? call.id : undefined),
          traceparent: call.traceparent,
          admitRetry: call.admitRetry,
        }),
        effects,
      ),
  })
}

/** A large value is checked in steps, which is not worth it. */
function isAccepted(input: Contract, value: unknown): boolean {
  const parsed = input.parse(value)
  return !(parsed instanceof Promise) && parsed.ok
}

/** MCP allows `A-Z a-z 0-9 _ - .` in a name; many clients allow no dots, and 64 characters. */
function toNames(id: string): Pick<Capability, 'name' | 'portableName'> {
  const name = toLength(id.replaceAll(/[^\w.-]/g, '_'), maxNameLength, id)
  const portableName = toLength(name.replaceAll('.', '_'), maxPortableLength, id)
  return portableName === name ? { name } : { name, portableName }
}

const maxNameLength = 128
const maxPortableLength = 64

/** Cutting could make different names equal: a digest keeps them distinct. */
function toLength(name: string, maxLength: number, id: string): string {
  if (name.length <= maxLength) return name
  const digest = hash('sha256', id).slice(0, 8)
  return `${name.slice(0, maxLength - digest.length - 1)}_${digest}`
}

/** The scopes that the document asks for: a caller may not do more with our credentials than with its own. */
function toPermissions({ operation, security }: ApiTarget): readonly string[] {
  return [...new Set(toUses(operation, security).flatMap(({ scopes }) => scopes))].filter(isScope)
}

/** Without a usable secret, what the document asks for first. */
const toUses = (
  { security: [firstAlternative = []] }: ApiTarget['operation'],
  security: ApiTarget['security'],
): readonly SchemeUse[] => (isFault(security) ? firstAlternative : security)

/** RFC 6749 scope-token. */
const isScope = (text: string): boolean => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)

function toDestination(target: ApiTarget): JsonObject {
  const { operation, server, security } = target
  const kinds = toUses(operation, security).map(({ scheme }) => scheme.kind)
  const names = isFault(security) ? [] : security.map(({ name }) => name)
  return dropUndefined({
    protocol: 'HTTP',
    method: operation.method.toUpperCase(),
    path: operation.route,
    endpoint: toServerText(server),
    auth: kinds.length > 0 ? kinds.join(' ') : 'none',
    secret: names.length > 0 ? names.join(' ') : undefined,
    request: toRequestDigest(target),
    secretMissing: isFault(security) || undefined,
  })
}
