import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { findSecrets } from '../../json/scan-secrets.ts'
import type { ApiTarget } from '../../openapi/api-client.ts'
import { methodEffects } from '../../openapi/methods.ts'
import { toRequestDigest } from '../../openapi/request-digest.ts'
import { listArguments } from '../../openapi/requests/check-arguments.ts'
import { isPlainText } from '../../openapi/security/secrets.ts'
import { toGuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import type { DiagnosticCode } from './diagnostic-codes.ts'
import { toUnsetReason } from './invoke/bind-secret.ts'
import {
  type CapabilityRoute,
  findRoute,
  type LoadedHandler,
  type RouteOptions,
  type UpstreamRoute,
} from './invoke/routes.ts'
import { toHandlerInvoke, toUpstreamInvoke } from './invoke/to-invoke.ts'
import type { Upstreams } from './invoke/upstreams.ts'
import type { ManifestOptions } from './manifest-source.ts'
import type { ManifestCapability } from './reading/manifest-shape.ts'
import type { Indexed, ValidManifest } from './reading/read-manifest.ts'
import { bundleSchema } from './schemas/bundle-schema.ts'
import type { LoadReference } from './schemas/load-reference.ts'
import { toInputSchema, toOutputSchema } from './schemas/to-schema.ts'
import { toCapability } from './to-capability.ts'

export type ReportFinding = (
  severity: Diagnostic['severity'],
  code: DiagnosticCode,
  pointer: string,
  message: string,
) => void

export interface LoaderParts {
  readonly options: ManifestOptions
  readonly upstreams: Upstreams
  readonly manifest: ValidManifest
  readonly handlers: ReadonlyMap<string, LoadedHandler>
  readonly apis: RouteOptions['apis']
  readonly report: ReportFinding
}

/** Loads capabilities one by one; an invalid one is reported and does not affect the others. */
export class CapabilityLoader {
  readonly #parts: LoaderParts
  readonly #loadReference: LoadReference
  readonly #checkedInterfaces = new Set<number>()

  constructor(parts: LoaderParts) {
    this.#parts = parts
    this.#loadReference = parts.options.loadReference(toGuardedFetch(parts.upstreams.egress))
  }

  async load(capability: Indexed<ManifestCapability>): Promise<Capability[]> {
    const { manifest, handlers, apis, options, report } = this.#parts
    const { id, index, input_schema, output_schema } = capability
    const pointer = `/capabilities/${index}`
    const route = findRoute(manifest, capability, {
      handlers,
      apis,
      secrets: options.secrets,
    })
    if (isFault(route)) {
      report('error', 'route_missing', pointer, route.fault)
      return []
    }
    const mismatch = findApiMismatch(route, capability)
    if (mismatch !== undefined) {
      report('error', 'route_missing', pointer, `${id} is not served: ${mismatch}.`)
      return []
    }
    const declaration = toCapability(manifest, capability, route.interface, options.id)
    const input = await this.#contract(toInputSchema(input_schema), 'input', id, pointer)
    const output = await this.#contract(toOutputSchema(output_schema), 'output', id, pointer)
    if (!input || !output) return []
    const isWrapped = 'type' in input_schema && input_schema.type !== 'object'
    if (route.kind === 'upstream') {
      const sent = isWrapped ? (input_schema as JsonObject) : input.schema
      this.#parts.upstreams.addTarget({ id, pointer, route, input: sent, output: output.schema })
      this.#checkInterface(route, id)
    }
    const invoke = this.#toInvoke(route, {
      id,
      isWrapped,
      writes: declaration.effects.writes,
      repeatable: declaration.effects.repeatable,
      retries: manifest.runtime.max_retries,
    })
    return [Object.freeze({ ...declaration, input, output, invoke, ...this.#toTarget(route, id) })]
  }

  #toInvoke(
    route: CapabilityRoute,
    options: Parameters<typeof toUpstreamInvoke>[1],
  ): Capability['invoke'] {
    return route.kind === 'handler'
      ? toHandlerInvoke(route.run, options)
      : toUpstreamInvoke(() => this.#parts.upstreams.open(route), options)
  }

  /** What a call runs: the code of a handler, or an interface of the agent. */
  #toTarget(route: CapabilityRoute, id: string): Pick<Capability, 'destination' | 'code'> {
    if (route.kind === 'handler') return { code: route.code }
    const { name, protocol, endpoint, auth } = route.interface
    const target = findTarget(route, id)
    const { secret } = route
    const references = target
      ? (route.api?.references.get(id) ?? [])
      : secret && !isFault(secret)
        ? [secret.name]
        : []
    const schemes = target && !isFault(target.security) ? target.security : []
    return {
      destination: dropUndefined({
        interface: name,
        protocol,
        endpoint,
        auth,
        secret: toList(references),
        secretHost: toList(this.#listBoundHosts([name, ...schemes.map((one) => one.name)])),
        method: target?.operation.method.toUpperCase(),
        path: target?.operation.route,
        request: target && toRequestDigest(target),
      }),
    }
  }

  /** The hosts to which the operator bound the secrets of these names. */
  #listBoundHosts(names: readonly string[]): readonly string[] {
    const { secrets } = this.#parts.options
    return names.flatMap((name) =>
      Object.hasOwn(secrets, name) ? (secrets[name]?.host ?? []) : [],
    )
  }

  /** Reports, once for each interface, what would make all calls over it fail. */
  #checkInterface(route: UpstreamRoute, id: string): void {
    const { name, index, endpoint = '' } = route.interface
    for (const { interface: other, fault } of route.skipped ?? []) {
      if (this.#checkedInterfaces.has(other.index)) continue
      this.#checkedInterfaces.add(other.index)
      const message = `The interface ${other.name} has no usable secret and is not used; calls go over ${name}: ${fault}.`
      this.#parts.report('warning', 'secret_unbound', `/interfaces/${other.index}/auth`, message)
    }
    if (this.#checkedInterfaces.has(index)) return
    this.#checkedInterfaces.add(index)
    const { verdict, why } = this.#parts.upstreams.egress.preview(endpoint)
    if (verdict === 'refused') {
      const message = `The interface ${name} cannot be reached: ${why}.`
      this.#parts.report('error', 'egress_refused', `/interfaces/${index}/endpoint`, message)
    }
    if (isPlainText(new URL(endpoint)) && this.#hasSecret(route, id)) {
      const message = `The interface ${name} gets its secret without TLS, and anyone on the way can read it. Use an https endpoint.`
      this.#parts.report(
        'warning',
        'secret_in_plain_text',
        `/interfaces/${index}/endpoint`,
        message,
      )
    }
    const { secret } = route
    const reason = secret
      ? isFault(secret)
        ? secret.fault
        : this.#findUnset(secret.name)
      : this.#findUnsetScheme(route, id)
    if (reason !== undefined) {
      const message = `The interface ${name} has no usable secret, so every call over it fails: ${reason}.`
      const code = secret && isFault(secret) ? 'secret_unbound' : 'secret_unset'
      this.#parts.report('warning', code, `/interfaces/${index}/auth`, message)
    }
  }

  #hasSecret({ secret, api }: UpstreamRoute, id: string): boolean {
    const target = api?.targets.get(id)
    if (!target || isFault(target)) return secret !== undefined && !isFault(secret)
    return !isFault(target.security) && target.security.length > 0
  }

  #findUnsetScheme({ api }: UpstreamRoute, id: string): string | undefined {
    const references = api?.references.get(id) ?? []
    return references.map((one) => this.#findUnset(one)).find((reason) => reason !== undefined)
  }

  #findUnset(name: string): string | undefined {
    return this.#parts.options.isUnset(name) ? toUnsetReason(name) : undefined
  }

  async #contract(schema: JsonObject, direction: 'input' | 'output', id: string, base: string) {
    const pointer = `${base}/${direction}_schema`
    try {
      const bundledSchema = await bundleSchema(schema, this.#loadReference)
      if (findSecrets(bundledSchema).length > 0)
        throw new Error('a referenced schema contains a secret')
      const reading = readContract(bundledSchema, direction)
      if (!isFault(reading)) {
        for (const remark of reading.remarks)
          this.#parts.report('warning', 'schema_inexact', pointer, `${id}: ${remark}.`)
        return reading.contract
      }
      this.#parts.report(
        'error',
        'schema_unusable',
        pointer,
        `${id} is not served: ${reading.fault}.`,
      )
    } catch (error) {
      const message = `${id} is not served: ${(error as Error).message}.`
      this.#parts.report('error', 'reference_unresolved', pointer, message)
    }
    return undefined
  }
}

/** The operation that calls of a capability are sent as. */
function findTarget(route: CapabilityRoute, id: string): ApiTarget | undefined {
  const target = route.kind === 'upstream' ? route.api?.targets.get(id) : undefined
  return target && !isFault(target) ? target : undefined
}

/** Why a capability cannot be sent as its operation: what is approved would not be what is sent. */
function findApiMismatch(
  route: CapabilityRoute,
  { id, side_effect_level, input_schema }: ManifestCapability,
): string | undefined {
  const operation = findTarget(route, id)?.operation
  if (!operation) return undefined
  const label = `${operation.method.toUpperCase()} ${operation.route}`
  if (methodEffects[operation.method].writes && side_effect_level === 'none')
    return `${label} has side effects, and side_effect_level is none`
  const known = new Set(listArguments(operation).map(({ argument }) => argument))
  const properties =
    'properties' in input_schema && isPlainObject(input_schema.properties)
      ? input_schema.properties
      : {}
  const unknown = Object.keys(properties).find(
    (name) => name !== 'idempotency_key' && !known.has(name),
  )
  return unknown === undefined
    ? undefined
    : `${label} has no argument ${JSON.stringify(unknown)}, so that it would be lost`
}

const toList = (texts: readonly string[]): string | undefined =>
  texts.length > 0 ? texts.join(' ') : undefined
