import type { z } from 'zod'
import { toPointer } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import { readYaml, type YamlReading } from '../../../yaml/read-yaml.ts'
import { lintManifest } from './lint-manifest.ts'
import {
  type Manifest,
  type ManifestCapability,
  type ManifestInterface,
  manifestShape,
} from './manifest-shape.ts'
import { findSecrets, type SecretFound, redactSecrets } from './scan-secrets.ts'
import { strictRuntime, strictTrust } from './strict-terms.ts'

export interface ManifestReadOptions {
  /** What diagnostics call it. */
  readonly source: string
  /** As it is printed before line and column. */
  readonly file: string
  /** Namespaces of fields that v0.1 does not know and that are projected all the same. */
  readonly extensions: readonly string[]
  /** Whether an unknown field is an error, or only said and left out. */
  readonly strict: boolean
}

export interface ManifestReading {
  /** What could be understood; absent when nothing could. */
  readonly manifest?: ValidManifest
  readonly diagnostics: readonly Diagnostic[]
  readonly whereIs: (path: ManifestPath) => string
}

/** Capabilities and interfaces keep the index they were written at. */
export interface ValidManifest extends Omit<Manifest, 'capabilities' | 'interfaces'> {
  readonly capabilities: readonly Indexed<ManifestCapability>[]
  readonly interfaces: readonly Indexed<ManifestInterface>[]
  /** Fields of approved namespaces, by the JSON pointer of what they stand in. */
  readonly extensions: ReadonlyMap<string, JsonObject>
  /** Whether everything that governs effects could be understood. */
  readonly whole: boolean
}

export type Indexed<T> = T & { readonly index: number }

export type ManifestPath = readonly PropertyKey[]

type Say = (
  severity: Diagnostic['severity'],
  code: string,
  path: ManifestPath,
  message: string,
  at?: string,
) => void

/**
 * Reads a manifest and says everything that is wrong with it, each at its place. A capability that
 * is wrong is left out alone; where a section that governs effects is wrong, what has effects is.
 */
export function readManifest(text: string, options: ManifestReadOptions): ManifestReading {
  const document = readYaml(text, options.file)
  const diagnostics: Diagnostic[] = []
  const say: Say = (severity, code, path, message, at = document.at(path)) =>
    diagnostics.push({
      code,
      severity,
      message,
      source: options.source,
      pointer: toPointer(path),
      at,
    })
  for (const { at, message } of document.faults)
    say('error', 'manifest_unreadable', [], redactSecrets(message), at)
  for (const { at, message, path } of document.remarks)
    say('warning', 'yaml_ambiguous', path, message, at)
  const reading = { diagnostics, whereIs: document.at }
  if (document.faults.length > 0) return reading
  if (!isPlainObject(document.value)) {
    say('error', 'manifest_unreadable', [], 'A manifest is a mapping with schema_version.')
    return reading
  }
  const secrets = findSecrets(document.value as JsonObject)
  for (const { path, message } of secrets) say('error', 'secret_inside', path, message)
  const clean = leaveOut(document.value, secrets)
  const extensions = new Map<string, JsonObject>()
  const value = takeExtensions(clean, [], options.extensions, extensions) as JsonObject
  const manifest = understand(value, document, options, say)
  if (!manifest) return reading
  const governed = secrets.every(({ path }) => path[0] === 'capabilities')
  const understood = { ...manifest, extensions, whole: manifest.whole && governed }
  lintManifest(understood, (severity, code, path, message) => say(severity, code, path, message))
  return { ...reading, manifest: understood }
}

/** Whatever holds a secret goes as a whole: the item of a list, or the section. */
function leaveOut(
  value: Readonly<Record<string, unknown>>,
  secrets: readonly SecretFound[],
): object {
  const copy: Record<string, unknown> = { ...value }
  for (const {
    path: [section, item],
    name: secret,
  } of secrets) {
    if (section === undefined) {
      if (secret !== undefined) delete copy[secret]
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

/** Fields of an approved namespace are set aside, so that the rest can be strict. */
function takeExtensions(
  value: unknown,
  path: ManifestPath,
  approved: readonly string[],
  found: Map<string, JsonObject>,
): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => takeExtensions(item, [...path, index], approved, found))
  // What stands in a JSON Schema belongs to it.
  if (!isPlainObject(value) || isSchemaPlace(path)) return value
  const kept: Record<string, unknown> = {}
  const taken: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    const isApproved = approved.some((name) => key === name || key.startsWith(`${name}-`))
    if (isApproved) taken[key] = item
    else kept[key] = takeExtensions(item, [...path, key], approved, found)
  }
  if (Object.keys(taken).length > 0) found.set(toPointer(path), taken as JsonObject)
  return kept
}

const isSchemaPlace = (path: ManifestPath): boolean =>
  path.length === 3 &&
  path[0] === 'capabilities' &&
  (path[2] === 'input_schema' || path[2] === 'output_schema')

/** Section by section, and item by item, so that one fault leaves the rest standing. */
function understand(
  value: JsonObject,
  document: YamlReading,
  options: ManifestReadOptions,
  say: Say,
): Omit<ValidManifest, 'extensions'> | undefined {
  const { shape } = manifestShape
  const complain = (error: z.ZodError, path: ManifestPath): boolean => {
    const unknownOnly = error.issues.every(({ code }) => code === 'unrecognized_keys')
    for (const issue of error.issues) explain(issue, path, document, options, say)
    return unknownOnly && !options.strict
  }
  const read = <Shape extends z.ZodType>(shape: Shape, key: string): Fallible<z.output<Shape>> => {
    const parsed = shape.safeParse(value[key])
    if (parsed.success) return { ok: true, value: parsed.data }
    if (!complain(parsed.error, [key])) return { ok: false }
    const again = shape.safeParse(without(value[key], parsed.error))
    return again.success ? { ok: true, value: again.data } : { ok: false }
  }
  const readAll = <Shape extends z.ZodType>(shape: Shape, key: string) => {
    const items = value[key]
    if (!Array.isArray(items) || items.length === 0) {
      say('error', 'manifest_invalid', [key], `${key} must be a list with at least one item.`)
      return []
    }
    return items.flatMap((item, index): Indexed<z.output<Shape>>[] => {
      if (item === undefined) return []
      const parsed = shape.safeParse(item)
      if (parsed.success) return [Object.assign({}, parsed.data, { index })]
      if (!complain(parsed.error, [key, index])) return []
      const again = shape.safeParse(without(item, parsed.error))
      return again.success ? [Object.assign({}, again.data, { index })] : []
    })
  }

  for (const key of Object.keys(value))
    if (!Object.hasOwn(shape, key)) sayUnknown([], key, document, options, say)
  const schemaVersion = read(shape.schema_version, 'schema_version')
  const identity = read(shape.identity, 'identity')
  const capabilities = readAll(shape.capabilities.element, 'capabilities')
  const interfaces = readAll(shape.interfaces.element, 'interfaces')
  const trust = read(shape.trust, 'trust')
  const requirements = read(shape.requirements, 'requirements')
  const composition = read(shape.composition, 'composition')
  const runtime = read(shape.runtime, 'runtime')
  const provenance = read(shape.provenance, 'provenance')
  if (!schemaVersion.ok || !identity.ok) return undefined
  return {
    schema_version: schemaVersion.value,
    identity: identity.value,
    capabilities,
    interfaces,
    // Only what has no effects is served when these stand in.
    trust: trust.ok ? trust.value : strictTrust,
    runtime: runtime.ok ? runtime.value : strictRuntime,
    ...(requirements.ok && requirements.value && { requirements: requirements.value }),
    ...(composition.ok && composition.value && { composition: composition.value }),
    ...(provenance.ok && provenance.value && { provenance: provenance.value }),
    whole: trust.ok && runtime.ok && requirements.ok,
  }
}

type Fallible<T> = { readonly ok: true; readonly value: T } | { readonly ok: false }

function explain(
  issue: z.core.$ZodIssue,
  base: ManifestPath,
  document: YamlReading,
  options: ManifestReadOptions,
  say: Say,
): void {
  const path = [...base, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) sayUnknown(path, key, document, options, say)
    return
  }
  if (issue.code === 'invalid_union') {
    const message = `${toPointer(path)} must be { $ref_uri: … } alone, or a JSON Schema whose type is one word.`
    say('error', 'manifest_invalid', path, message)
    return
  }
  say('error', 'manifest_invalid', path, `${toPointer(path)}: ${issue.message}`)
}

function sayUnknown(
  path: ManifestPath,
  key: string,
  document: YamlReading,
  { strict }: ManifestReadOptions,
  say: Say,
): void {
  const message = `${toPointer([...path, key])} is not a field of a v0.1 manifest and is not projected. Take it out, or approve its namespace with "extensions".`
  say(
    strict ? 'error' : 'warning',
    'field_unknown',
    [...path, key],
    message,
    document.keyAt(path, key),
  )
}

/** The same value less the keys that were complained about. */
function without(value: unknown, { issues }: z.ZodError): unknown {
  const copy = structuredClone(value)
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue
    let at = copy as Record<PropertyKey, unknown>
    for (const step of issue.path) at = at[step] as Record<PropertyKey, unknown>
    for (const key of issue.keys) delete at[key]
  }
  return copy
}
