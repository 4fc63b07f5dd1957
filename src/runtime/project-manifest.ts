import { createHash } from 'node:crypto'
import path from 'node:path'
import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { toFingerprint } from '../catalog/fingerprint.ts'
import { byCodeUnit } from '../json/by-code-unit.ts'
import { toTool } from '../mcp/to-tool.ts'
import { manifestExtension } from '../mcp/wire-names.ts'
import { findDroppedFields } from '../sources/manifest/dropped-fields.ts'
import { toAgentCard } from '../sources/manifest/export/to-agent-card.ts'
import { toServerJson } from '../sources/manifest/export/to-server-json.ts'
import { readManifest, type ValidManifest } from '../sources/manifest/reading/read-manifest.ts'
import { toUnreadable } from '../sources/manifest/reading/to-unreadable.ts'
import { toInputSchema, toOutputSchema } from '../sources/manifest/schemas/to-schema.ts'
import { toServable } from '../sources/manifest/servable.ts'
import { findAgentInterface, toCapability } from '../sources/manifest/to-capability.ts'
import { toExtension, toNamedExtensions } from '../sources/manifest/to-extension.ts'
import { readTextFile } from './read-text-file.ts'

export interface ProjectOptions {
  readonly file: string
  readonly extensions: readonly string[]
  readonly strict: boolean
  /** Includes capabilities that are not offered over MCP. */
  readonly all: boolean
  readonly namespace?: string
}

export type Target = 'mcp' | 'server-json' | 'a2a'

export interface ManifestProjection {
  /**
   * Without the capabilities that have errors. Absent when none is left, when another part has an error, or
   * when the manifest cannot be exported to this target.
   */
  readonly json?: JsonObject
  readonly diagnostics: readonly Diagnostic[]
}

/** Projects a manifest deterministically: the same text gives the same JSON. */
export async function projectManifest(
  target: Target,
  { file, extensions, strict, all, namespace }: ProjectOptions,
): Promise<ManifestProjection> {
  const source = path.basename(file)
  const text = await readTextFile(file).catch((error: Error) => error)
  if (text instanceof Error) return { diagnostics: [toUnreadable(text, { source, file })] }
  const reading = readManifest(text, { source, file, extensions, strict })
  const { diagnostics } = reading
  const manifest = reading.manifest && toValidPart(reading.manifest, diagnostics)
  if (!manifest) return { diagnostics }
  const locate = (pointer: string) => reading.positionOf(pointer.slice(1).split('/'))
  if (target === 'mcp') return { json: toDeclarations(manifest, diagnostics, all), diagnostics }
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  const exported =
    target === 'a2a'
      ? toAgentCard(manifest)
      : toServerJson(manifest, { namespace: namespace ?? 'local', digest })
  if (isFault(exported)) {
    const pointer = '/interfaces'
    const problem = {
      code: 'export_impossible',
      severity: 'error',
      message: exported.fault,
    } as const
    return { diagnostics: [...diagnostics, { ...problem, source, pointer, at: locate(pointer) }] }
  }
  const warnings = exported.warnings.map(({ path: pointer, message }) => ({
    code: 'export_inexact',
    severity: 'warning' as const,
    message,
    source,
    pointer,
    at: locate(pointer),
  }))
  return { json: exported.json, diagnostics: [...diagnostics, ...warnings] }
}

/** The manifest without its invalid capabilities; `undefined` if none is left, or if another part is invalid. */
function toValidPart(
  manifest: ValidManifest,
  diagnostics: readonly Diagnostic[],
): ValidManifest | undefined {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return manifest
  const isOfCapability = ({ pointer }: Diagnostic) => /^\/capabilities\/\d/.test(pointer)
  // A file with a secret in it is not published in part either.
  if (errors.some((one) => one.code === 'secret_inside' || !isOfCapability(one))) return undefined
  const { capabilities } = toServable(manifest, diagnostics)
  return capabilities.length === 0 ? undefined : { ...manifest, capabilities }
}

function toDeclarations(
  manifest: ValidManifest,
  diagnostics: readonly Diagnostic[],
  all: boolean,
): JsonObject {
  const { identity, interfaces } = manifest
  const offered = manifest.capabilities.filter(({ protocols }) => all || protocols.includes('MCP'))
  const dropped = findDroppedFields(manifest, new Set(offered.map(({ index }) => index)))
  const warnings = [
    ...dropped.map(({ pointer, message }) => ({ code: 'field_dropped', path: pointer, message })),
    ...diagnostics.map(({ code, pointer, message }) => ({ code, path: pointer, message })),
  ]
  const endpoint = interfaces.find(({ protocol }) => protocol === 'MCP')?.endpoint
  return JSON.parse(
    JSON.stringify({
      server: {
        name: identity.id,
        version: identity.version,
        description: identity.description,
        title: identity.name,
      },
      endpoint: endpoint ?? null,
      tools: offered
        .map((capability) => toDeclaredTool(manifest, capability))
        .sort((a, b) => byCodeUnit(a.name, b.name)),
      extensions: {
        ...toNamedExtensions(manifest),
        [manifestExtension]: toExtension(manifest),
      },
      warnings: warnings.sort((a, b) => byCodeUnit(a.path, b.path) || byCodeUnit(a.code, b.code)),
    }),
  ) as JsonObject
}

/** The tool as the manifest mapping defines it, without additions for serving. */
function toDeclaredTool(
  manifest: ValidManifest,
  capability: ValidManifest['capabilities'][number],
) {
  const { input_schema, output_schema } = capability
  const agentInterface = findAgentInterface(manifest, capability)
  const inputSchema = toInputSchema(input_schema)
  const declared: Capability = {
    ...toCapability(manifest, capability, agentInterface, manifest.identity.id),
    input: { schema: inputSchema, parse: neverCalled },
    output: { schema: toOutputSchema(output_schema), parse: neverCalled },
    invoke: neverCalled,
  }
  return {
    ...toTool({ capability: declared, fingerprint: toFingerprint(declared) }, 'full'),
    inputSchema,
  }
}

function neverCalled(): never {
  throw new Error('A projected capability cannot be called.')
}
