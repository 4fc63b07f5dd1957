import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
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
import { toInputSchema, toOutputSchema } from '../sources/manifest/schemas/to-schema.ts'
import { findAgentInterface, toCapability } from '../sources/manifest/to-capability.ts'
import { toExtension } from '../sources/manifest/to-extension.ts'

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
  /** Absent when the manifest is invalid or cannot be exported to this target. */
  readonly json?: JsonObject
  readonly diagnostics: readonly Diagnostic[]
}

/** Projects a manifest deterministically: the same text gives the same JSON. */
export async function projectManifest(
  target: Target,
  { file, extensions, strict, all, namespace }: ProjectOptions,
): Promise<ManifestProjection> {
  const text = await readFile(file, 'utf8')
  const source = path.basename(file)
  const { manifest, diagnostics, positionOf } = readManifest(text, {
    source,
    file,
    extensions,
    strict,
  })
  const invalid = diagnostics.some(({ severity }) => severity === 'error')
  if (!manifest || invalid) return { diagnostics }
  if (target === 'mcp') return { json: toDeclarations(manifest, diagnostics, all), diagnostics }
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  const exported =
    target === 'a2a'
      ? toAgentCard(manifest)
      : toServerJson(manifest, { namespace: namespace ?? 'local', digest })
  if (isFault(exported))
    return {
      diagnostics: [
        ...diagnostics,
        {
          code: 'export_impossible',
          severity: 'error',
          message: exported.fault,
          source,
          pointer: '/interfaces',
        },
      ],
    }
  const warnings = exported.warnings.map(({ path: pointer, message }) => ({
    code: 'export_inexact',
    severity: 'warning' as const,
    message,
    source,
    pointer,
    at: positionOf(pointer.slice(1).split('/')),
  }))
  return { json: exported.json, diagnostics: [...diagnostics, ...warnings] }
}

function toDeclarations(
  manifest: ValidManifest,
  diagnostics: readonly Diagnostic[],
  all: boolean,
): JsonObject {
  const { identity, interfaces, composition } = manifest
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
        ...(composition && { 'agenthub.composition': composition }),
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
  return { ...toTool({ capability: declared, fingerprint: toFingerprint(declared) }), inputSchema }
}

function neverCalled(): never {
  throw new Error('A projected capability cannot be called.')
}
