import type { Capability } from '../../capability/capability.ts'
import type { Contract, ContractReading } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Effects } from '../../capability/effects.ts'
import { isFault } from '../../capability/fault.ts'
import { whenDone } from '../../capability/when-done.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { readOutputSchema } from '../../openapi/answers/output-schema.ts'
import type { Api } from '../../openapi/api.ts'
import type { ApiClient, ApiTarget } from '../../openapi/api-client.ts'
import type { Operation } from '../../openapi/compile-operation.ts'
import type { DocumentPath, OpenApiDocument } from '../../openapi/document.ts'
import type { Finding, Findings } from '../../openapi/findings.ts'
import { removeSecrets } from '../../openapi/remove-secrets.ts'
import { SchemaTranslator } from '../../openapi/schemas.ts'
import { listSchemeNames } from '../../openapi/security/schemes.ts'
import { findTokenEndpoint, findValueFault, isPlainText } from '../../openapi/security/secrets.ts'
import { listServerVariables } from '../../openapi/servers.ts'
import { toDestinations } from '../../openapi/to-destinations.ts'
import { toGlob } from '../../patterns/glob.ts'
import type { Destination, ScheduleProbe } from '../../upstream/egress/upstream-source.ts'
import type { OpenApiOptions } from './openapi-source.ts'
import { probeApi } from './probe-api.ts'
import { listIds } from './select-operations.ts'
import { definitionsOf, SharedDefinitions } from './shared-definitions.ts'
import { toCapability } from './to-capability.ts'

/** Something that is wrong with several operations, reported once. */
interface SharedProblem {
  readonly severity: Diagnostic['severity']
  readonly code: string
  readonly path: DocumentPath
  readonly message: string
  readonly operations: Set<string>
}

/** Turns operations into capabilities; one that cannot be served is reported and left out alone. */
export class CapabilityLoader {
  readonly diagnostics: Diagnostic[] = []
  readonly #options: OpenApiOptions
  readonly #client: ApiClient
  readonly #document: OpenApiDocument
  readonly #outputs: SchemaTranslator
  readonly #effects: readonly EffectsRule[]
  readonly #definitions = new SharedDefinitions()
  /** Of all operations that are served. */
  #definitionsLength = 0
  readonly #targets: ApiTarget[] = []
  readonly #destinations = new Map<string, readonly Destination[]>()
  readonly #reported = new Set<string>()
  readonly #sharedProblems = new Map<string, SharedProblem>()

  constructor(options: OpenApiOptions, client: ApiClient, document: OpenApiDocument) {
    this.#options = options
    this.#client = client
    this.#document = document
    this.#outputs = new SchemaTranslator(document, 'output')
    this.#effects = Object.entries(options.effects).map(([pattern, effects]) => ({
      pattern,
      matches: toGlob(pattern),
      effects,
      isUsed: false,
    }))
  }

  /** Once for the same place and message: operations share what they refer to. */
  report(severity: Diagnostic['severity'], code: string, path: DocumentPath, text: string): void {
    const pointer = toPointer(path)
    const message = toVisible(text)
    const key = `${code} ${pointer} ${message}`
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    const at = this.#document.at(path)
    const diagnostic = { code, severity, message, source: this.#options.id, pointer, at }
    this.diagnostics.push(
      countedCodes.has(code) ? { ...diagnostic, alike: toKind(message) } : diagnostic,
    )
  }

  /** About another file than the document. */
  reportAt(at: string, code: string, message: string): void {
    const { id: source } = this.#options
    this.diagnostics.push({ code, severity: 'warning', message, source, pointer: '', at })
  }

  reportFindings({ faults, remarks, notes }: Findings): void {
    for (const { path, message } of faults) this.report('error', 'openapi_invalid', path, message)
    for (const { path, message } of remarks)
      this.report('warning', 'openapi_inexact', path, message)
    for (const { path, message } of notes) this.report('info', 'openapi_choice', path, message)
  }

  load(target: ApiTarget): Capability | undefined {
    const { server } = target
    const operation = this.#withoutSecrets(target.operation)
    const { id, path, findings } = operation
    if (findings.faults.length > 0) return this.#reject(id, findings.faults)
    this.reportFindings(findings)
    if (isFault(server)) {
      this.#share('error', 'server_missing', path, `cannot be served: ${server.fault}`, id)
      return undefined
    }
    const length = this.#definitions.lengthOf(definitionsOf(operation.input))
    if (this.#definitionsLength + length > maxDefinitionsLength) {
      this.#share('error', 'openapi_too_large', path, tooLargeText, id)
      return undefined
    }
    this.#definitionsLength += length
    const input = readContract(operation.input, 'input')
    if (isFault(input)) return this.#reject(id, [{ path, message: `${input.fault}.` }])
    for (const remark of input.remarks)
      this.report('warning', 'openapi_inexact', path, `${id}: ${remark}.`)
    const output = this.#options.outputs ? this.#readOutput(target) : undefined
    if (operation.isDeprecated) this.#share('info', 'openapi_choice', path, hiddenText, id)
    this.#checkConnection(target, server)
    this.#targets.push(target)
    this.#destinations.set(toPointer(path), toDestinations(target))
    return toCapability({
      source: this.#options.id,
      target: { ...target, operation },
      client: this.#client,
      input: withoutDefaults(input.contract),
      output,
      effects: this.#toEffects(operation),
    })
  }

  /** Reports what concerns several operations, or none. */
  finish({ document, operations: declared }: Api): void {
    for (const { severity, code, path, message, operations } of this.#sharedProblems.values()) {
      const [first] = operations
      const subject =
        operations.size === 1 ? first : `${operations.size} operations, such as ${first},`
      this.report(severity, code, path, `${subject} ${message.replace(/\.$/, '')}.`)
    }
    for (const { pattern, isUsed } of this.#effects)
      if (!isUsed)
        this.report(
          'warning',
          'selector_unmatched',
          [],
          `effects: ${JSON.stringify(pattern)} matches no operation that is served.`,
        )
    const variables = listServerVariables(document, declared)
    for (const name of Object.keys(this.#options.variables ?? {}))
      if (!variables.has(name))
        this.report(
          'warning',
          'selector_unmatched',
          ['servers'],
          `variables: no server of the document has {${name}}.`,
        )
    const schemes = listSchemeNames(document)
    for (const name of Object.keys(this.#options.secrets))
      if (!schemes.has(name))
        this.report(
          'error',
          'secret_binding',
          ['components', 'securitySchemes'],
          `A secret is bound to the security scheme ${JSON.stringify(name)}, which the document does not have.`,
        )
  }

  destinations(pointer: string): readonly Destination[] {
    return this.#destinations.get(pointer) ?? []
  }

  /** Documents contain keys as examples, some of them valid, and clients can read everything that is shown. */
  #withoutSecrets(operation: Operation): Operation {
    const { summary, description, input, path, id } = operation
    const definitions = definitionsOf(input)
    const { $defs: _, ...ownInput } = input
    const shown = { summary, description, input: ownInput }
    const removed: DocumentPath[] = []
    const clean = removeSecrets(shown, (one) => removed.push(one))
    const cleanDefinitions = this.#definitions.withoutSecrets(definitions, (one) =>
      removed.push(['input', '$defs', ...one]),
    )
    if (removed.length > 0)
      this.report(
        'info',
        'secret_removed',
        path,
        `${id}: values that look like secrets are not shown to clients, such as ${toPointer(removed[0] ?? [])}.`,
      )
    if (removed.length === 0) return operation
    const hasDefinitions = Object.keys(definitions).length > 0
    const cleanInput = hasDefinitions ? { ...clean.input, $defs: cleanDefinitions } : clean.input
    return { ...operation, ...clean, input: cleanInput }
  }

  async probe(schedule: ScheduleProbe): Promise<readonly Diagnostic[]> {
    const findings = await probeApi(this.#targets, this.#client, schedule)
    return findings.map(({ path, ...finding }) => ({
      ...finding,
      source: this.#options.id,
      pointer: toPointer(path),
      at: this.#document.at(path),
    }))
  }

  #reject(id: string, faults: readonly Finding[]): undefined {
    for (const { path, message } of faults)
      this.report('error', 'operation_unusable', path, `${id} is not served: ${message}`)
    return undefined
  }

  #share(
    severity: Diagnostic['severity'],
    code: string,
    path: DocumentPath,
    message: string,
    id: string,
  ): void {
    const key = `${code} ${message}`
    const problem = this.#sharedProblems.get(key)
    if (problem) problem.operations.add(id)
    else this.#sharedProblems.set(key, { severity, code, path, message, operations: new Set([id]) })
  }

  #readOutput({ operation }: ApiTarget): ReturnType<typeof toContract> {
    const schema = readOutputSchema(this.#document, operation, this.#outputs)
    const reading = schema && readContract(schema, 'output')
    if (reading && isFault(reading))
      this.report(
        'warning',
        'openapi_inexact',
        [...operation.path, 'responses'],
        `The result of ${operation.id} is not checked: ${reading.fault}.`,
      )
    return toContract(reading)
  }

  /** Reports what would make calls fail before anything is sent. */
  #checkConnection({ operation: { id, path }, security }: ApiTarget, server: URL): void {
    const tokenUrls = isFault(security)
      ? []
      : security.flatMap((bound) => findTokenEndpoint(bound) ?? [])
    for (const { href } of [server, ...tokenUrls]) {
      const { verdict, why } = this.#client.host.egress.preview(href)
      if (verdict === 'refused')
        this.#share('error', 'egress_refused', path, `cannot be called: ${why}`, id)
    }
    if (isFault(security))
      return this.#share(
        'warning',
        'secret_unbound',
        path,
        `cannot be called: ${security.fault}`,
        id,
      )
    for (const bound of security) {
      const fault = findValueFault(bound)
      if (fault !== undefined)
        this.#share('warning', 'secret_unset', path, `cannot be called: ${fault}`, id)
    }
    if (security.length > 0 && isPlainText(server))
      this.#share(
        'warning',
        'secret_in_plain_text',
        path,
        `sends its secret to ${server.host} without TLS`,
        id,
      )
  }

  #toEffects(operation: Operation): Partial<Effects> {
    const ids = listIds(operation)
    const rules = this.#effects.filter(({ matches }) => ids.some(matches))
    for (const rule of rules) rule.isUsed = true
    return Object.assign({}, ...rules.map(({ effects }) => effects))
  }
}

/** Operations share definitions, but each one lists and checks them on its own. */
const maxDefinitionsLength = 64 * 1024 * 1024

const tooLargeText =
  'cannot be served: the schemas that the operations refer to are larger than 64 MB together; select operations with "include" of the source'

/** What a document can have hundreds of: printed as one line with a count. */
const countedCodes = new Set(['openapi_choice', 'openapi_inexact', 'secret_removed'])

/** Names of a document can contain line breaks and control characters. */
const toVisible = (message: string): string =>
  message.replaceAll(/\p{Cc}/gu, (one) => JSON.stringify(one).slice(1, -1))

/** The sentence without what it is about. In two steps, each in linear time: names of a document can be long. */
const toKind = (message: string): string =>
  message
    .replaceAll(/^\S+:|"[^"]*"|\{[^{}]*\}/g, '*')
    .replaceAll(/\S+/g, (word) => (/[/\d]/.test(word) ? '*' : word))

const hiddenText = 'can be called by name, but not found in the list, because of "deprecated"'

interface EffectsRule {
  readonly pattern: string
  readonly matches: (id: string) => boolean
  readonly effects: Partial<Effects>
  isUsed: boolean
}

/**
 * A default says what the API assumes for an absent value. It is shown, not sent: in a PATCH it would
 * overwrite what the caller did not mention.
 */
const withoutDefaults = ({ schema, parse }: Contract): Contract => ({
  schema,
  parse: (value) => whenDone(parse(value), (parsed) => (parsed.ok ? { ok: true, value } : parsed)),
})

const toContract = (reading: ContractReading | undefined) =>
  reading && !isFault(reading) ? reading.contract : undefined
