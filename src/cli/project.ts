import path from 'node:path'
import canonicalize from 'canonicalize'
import { defineCommand } from 'citty'
import { dropUndefined } from '../json/drop-undefined.ts'
import { findConfig } from '../runtime/config/find-config.ts'
import { UnsetVariables } from '../runtime/config/unset-variables.ts'
import { projectManifest, type Target } from '../runtime/project-manifest.ts'
import { descriptions } from './descriptions.ts'
import { exitCodes } from './exit-codes.ts'
import { envOptionalFlag } from './terminal/flags.ts'
import { printExactly, printMessage, toLines } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

const targets: readonly Target[] = ['mcp', 'server-json', 'a2a']

export const project = defineCommand({
  meta: { name: 'project', description: descriptions.project },
  args: {
    what: {
      type: 'positional',
      default: '.',
      required: false,
      description: 'an agent.yaml, or a drawbridge.yaml with one manifest',
    },
    to: { type: 'string', default: 'mcp', description: `format: ${targets.join(', ')}` },
    all: { type: 'boolean', description: 'include capabilities that are not offered over MCP' },
    namespace: {
      type: 'string',
      description: 'reverse DNS prefix of the name, such as com.acme; required for server-json',
    },
    'env-optional': envOptionalFlag,
  },
  async run({ args }) {
    const target = targets.find((one) => one === args.to)
    if (!target) throw new UsageError(`--to must be one of ${targets.join(', ')}.`)
    const unset = args['env-optional'] ? new UnsetVariables() : undefined
    const { config, folder } = await findConfig(args.what, process.env, unset)
    for (const line of toLines(unset?.diagnostics ?? [])) printMessage(line)
    const manifests = config.sources.flatMap((source) => ('manifest' in source ? [source] : []))
    const [manifest, ...others] = manifests
    if (!manifest || others.length > 0)
      throw new UsageError(
        `${args.what} has ${manifests.length} manifests; name one manifest file.`,
      )
    const namespace = args.namespace ?? config.namespace
    if (target === 'server-json' && namespace === undefined)
      throw new UsageError(
        'server-json needs a namespace: --namespace com.acme, or "namespace" in drawbridge.yaml.',
      )
    const { json, diagnostics } = await projectManifest(target, {
      file: path.resolve(folder, manifest.manifest),
      extensions: manifest.extensions,
      strict: manifest.strict,
      all: args.all ?? manifest.all,
      ...dropUndefined({ namespace }),
    })
    for (const line of toLines(diagnostics)) printMessage(line)
    if (json) printExactly(canonicalize(json) ?? '')
    const isValid = json !== undefined && diagnostics.every(({ severity }) => severity !== 'error')
    return isValid ? exitCodes.success : exitCodes.negativeResult
  },
})
