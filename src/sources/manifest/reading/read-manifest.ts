import type { z } from 'zod'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { findSecrets, redactSecretsInText, type SecretFinding } from '../../../json/scan-secrets.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { readYaml, type YamlReading } from '../../../yaml/read-yaml.ts'
import type { DiagnosticCode } from '../diagnostic-codes.ts'
import { lintManifest } from './lint-manifest.ts'
import {
  type Manifest,
  type ManifestCapability,
  type ManifestInterface,
  manifestShape,
} from './manifest-shape.ts'
import { strictRuntime, strictTrust } from './strict-terms.ts'
import { reportUnknownField, withoutUnknownFields } from './unknown-fields.ts'

export interface ManifestReadOptions {
  /** Names the source in diagnostics. */
  readonly source: string
  /** The file name printed before line and column. */
  readonly file: string
  /** Approved namespaces: their fields are projected although v0.1 does not define them. */
  readonly extensions: readonly string[]
  /** Report unknown fields as errors; otherwise they are removed with a warning. */
  readonly strict: boolean
}

export interface ManifestReading {
  /** Absent if the file cannot be parsed, or `schema_version` or `identity` is invalid. */
  readonly manifest?: ValidManifest
  readonly diagnostics: readonly Diagnostic[]
  /** `file:line:column` of a path. */
  readonly positionOf: (path: ManifestPath) => string
}

/** A manifest reduced to its valid parts; items of lists keep their original index. */
export interface ValidManifest extends Omit<Manifest, 'capabilities' | 'interfaces'> {
  readonly capabilities: readonly Indexed<ManifestCapability>[]
  readonly interfaces: readonly Indexed<ManifestInterface>[]
  /** Fields of approved namespaces, by the JSON pointer of the object they are part of. */
  readonly extensions: ReadonlyMap<string, JsonObject>
  /** `true` if all sections that govern side effects are valid. */
  readonly isGoverned: boolean
  /** Also of invalid capabilities. */
  readonly declaredIds: ReadonlySet<unknown>
  /** The invalid sections that the strictest terms stand in for. */
  readonly substituted: ReadonlySet<'trust' | 'runtime'>
}

export type Indexed<T> = T & { readonly index: number }

export type ManifestPath = readonly PropertyKey[]

export type Report = (
  severity: Diagnostic['severity'],
  code: DiagnosticCode,
  path: ManifestPath,
  message: string,
  at?: string,
) => void

/**
 * Reads a manifest and reports every problem with its position. An invalid capability does not affect
 * the others. If a section that governs side effects is invalid, capabilities with side effects are
 * not served.
 */
export function readManifest(text: string, options: ManifestReadOptions): ManifestReading {
  const document = readYaml(text, options.file)
  const diagnostics: Diagnostic[] = []
  const report: Report = (severity, code, path, message, at = document.at(path)) =>
    diagnostics.push({
      code,
      severity,
      message,
      source: options.source,
      pointer: toPointer(path),
      at,
    })
  for (const { at, message } of document.faults)
    report('error', 'manifest_unreadable', [], redactSecretsInText(message), at)
  for (const { at, message, path } of document.remarks)
    report('warning', 'yaml_ambiguous', path, message, at)
  const reading = { diagnostics, positionOf: document.at }
  if (document.faults.length > 0) return reading
  if (!isPlainObject(document.value)) {
    const message =
      text.trim() === ''
        ? 'The file is empty: a manifest is a mapping with schema_version.'
        : 'A manifest must be a mapping with schema_version.'
    report('error', 'manifest_unreadable', [], message)
    return reading
  }
  if (!('schema_version' in document.value) && isOpenApi(document.value)) {
    const message =
      'This is an OpenAPI document, not a manifest: serve it with a source "- openapi: …" of its own.'
    report('error', 'manifest_unreadable', [], message)
    return reading
  }
  const secrets = findSecrets(document.value as JsonObject)
  for (const { path, message } of secrets) report('error', 'secret_inside', path, message)
  const withoutSecrets = removeSecretParts(document.value, secrets)
  const extensions = new Map<string, JsonObject>()
  const value = extractExtensions(withoutSecrets, [], options.extensions, extensions) as JsonObject
  const manifest = parseSections(value, document, options, report)
  if (!manifest) return reading
  const isGoverned = manifest.isGoverned && secrets.every(({ path }) => path[0] === 'capabilities')
  const validManifest = { ...manifest, extensions, isGoverned }
  lintManifest(validManifest, report)
  return { ...reading, manifest: validManifest }
}

const isOpenApi = (value: object): boolean => 'openapi' in value || 'swagger' in value

/** Removes the list item or section that contains a secret as a whole. */
function removeSecretParts(
  value: Readonly<Record<string, unknown>>,
  secrets: readonly SecretFinding[],
): object {
  const copy: Record<string, unknown> = { ...value }
  for (const {
    path: [section, item],
    name: secretKey,
  } of secrets) {
    if (section === undefined) {
      if (secretKey !== undefined) delete copy[secretKey]
      continue
    }
    const name = String(section)
    const items = copy[name]
    copy[name] =
      Array.isArray(items) && typeof item === 'number'
        ? items.map((one, index) => (index === item ? undefined : one))
        : undefined
  }
  return copy
}

/** Moves fields of approved namespaces to `extensions`, so that the rest can be parsed strictly. */
function extractExtensions(
  value: unknown,
  path: ManifestPath,
  namespaces: readonly string[],
  extensions: Map<string, JsonObject>,
): unknown {
  if (Array.isArray(value))
    return value.map((item, index) =>
      extractExtensions(item, [...path, index], namespaces, extensions),
    )
  // Fields inside a JSON Schema are keywords or property names.
  if (!isPlainObject(value) || isSchemaPath(path)) return value
  const remaining: Record<string, unknown> = {}
  const extensionFields: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    const isApproved = namespaces.some((name) => key === name || key.startsWith(`${name}-`))
    if (isApproved) extensionFields[key] = item
    else remaining[key] = extractExtensions(item, [...path, key], namespaces, extensions)
  }
  if (Object.keys(extensionFields).length > 0)
    extensions.set(toPointer(path), extensionFields as JsonObject)
  return remaining
}

const isSchemaPath = (path: ManifestPath): boolean =>
  path.length === 3 &&
  path[0] === 'capabilities' &&
  (path[2] === 'input_schema' || path[2] === 'output_schema')

/** Parses each section and list item separately, so that one fault does not invalidate the rest. */
function parseSections(
  value: JsonObject,
  document: YamlReading,
  options: ManifestReadOptions,
  report: Report,
): Omit<ValidManifest, 'extensions'> | undefined {
  const { shape } = manifestShape
  /** Returns `true` if removing unknown fields is enough to make the value valid. */
  const reportIssues = (error: z.ZodError, path: ManifestPath): boolean => {
    const hasOnlyUnknownFields = error.issues.every(({ code }) => code === 'unrecognized_keys')
    for (const issue of error.issues) reportIssue(issue, path, document, options, report)
    return hasOnlyUnknownFields && !options.strict
  }
  const read = <Shape extends z.ZodType>(
    shape: Shape,
    key: string,
  ): Section<z.output<Shape>> | undefined => {
    const parsed = shape.safeParse(value[key])
    if (parsed.success) return { value: parsed.data }
    if (!reportIssues(parsed.error, [key])) return undefined
    const reparsed = shape.safeParse(withoutUnknownFields(value[key], parsed.error))
    return reparsed.success ? { value: reparsed.data } : undefined
  }
  const readAll = <Shape extends z.ZodType>(shape: Shape, key: string) => {
    const items = value[key]
    if (!Array.isArray(items) || items.length === 0) {
      report('error', 'manifest_invalid', [key], `${key} must be a list with at least one item.`)
      return []
    }
    return items.flatMap((item, index): Indexed<z.output<Shape>>[] => {
      if (item === undefined) return []
      const parsed = shape.safeParse(item)
      if (parsed.success) return [Object.assign({}, parsed.data, { index })]
      if (!reportIssues(parsed.error, [key, index])) return []
      const reparsed = shape.safeParse(withoutUnknownFields(item, parsed.error))
      return reparsed.success ? [Object.assign({}, reparsed.data, { index })] : []
    })
  }

  for (const key of Object.keys(value))
    if (!Object.hasOwn(shape, key)) reportUnknownField([], key, document, options, report)
  const schemaVersion = read(shape.schema_version, 'schema_version')
  const identity = read(shape.identity, 'identity')
  const capabilities = readAll(shape.capabilities.element, 'capabilities')
  const interfaces = readAll(shape.interfaces.element, 'interfaces')
  const trust = read(shape.trust, 'trust')
  const requirements = read(shape.requirements, 'requirements')
  const composition = read(shape.composition, 'composition')
  const runtime = read(shape.runtime, 'runtime')
  const provenance = read(shape.provenance, 'provenance')
  if (!schemaVersion || !identity) return undefined
  return {
    schema_version: schemaVersion.value,
    identity: identity.value,
    capabilities,
    interfaces,
    // With these substitutes, only capabilities without side effects are served.
    trust: trust?.value ?? strictTrust,
    runtime: runtime?.value ?? strictRuntime,
    ...dropUndefined({
      requirements: requirements?.value,
      composition: composition?.value,
      provenance: provenance?.value,
    }),
    declaredIds: new Set(
      (Array.isArray(value.capabilities) ? value.capabilities : []).map((one) =>
        isPlainObject(one) ? one.id : undefined,
      ),
    ),
    substituted: new Set([
      ...(trust ? [] : (['trust'] as const)),
      ...(runtime ? [] : (['runtime'] as const)),
    ]),
    isGoverned: trust !== undefined && runtime !== undefined && requirements !== undefined,
  }
}

/** A valid section; its value is `undefined` if an optional section is absent. */
interface Section<T> {
  readonly value: T
}

function reportIssue(
  issue: z.core.$ZodIssue,
  base: ManifestPath,
  document: YamlReading,
  options: ManifestReadOptions,
  report: Report,
): void {
  const path = [...base, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) reportUnknownField(path, key, document, options, report)
    return
  }
  if (issue.code === 'invalid_union') {
    const message = `${toPointer(path)} must be { $ref_uri: … } alone, or a JSON Schema with a single type.`
    report('error', 'manifest_invalid', path, message)
    return
  }
  report('error', 'manifest_invalid', path, `${toPointer(path)}: ${issue.message}`)
}
