import { z } from 'zod'
import { sealFormats } from '../crypto/seal-formats.ts'
import { wireVersion } from '../envelope/wire-version.ts'
import { natsFields } from '../transport/nats/address.ts'
import { effectClasses, routingModes } from './agent.ts'

/** ASCII without shell metacharacters: sorts the same in every locale. */
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/,
    'must be 1 to 128 letters, digits, or . _ : -, and begin with a letter or digit',
  )
const version = z.string().regex(/^(\*|[A-Za-z0-9][A-Za-z0-9._-]{0,31})$/, 'must be a version or *')
const intent = z.union([z.literal('*'), z.string().min(1).max(128)])

export const capabilityShape = z.strictObject({
  intent,
  version: version.default(wireVersion),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.unknown().optional(),
  outputSchema: z.unknown().optional(),
  effects: z
    .union([
      z.enum(effectClasses),
      z
        .strictObject({
          writes: z.boolean(),
          irreversible: z.boolean(),
          repeatable: z.boolean(),
          reachesOut: z.boolean(),
        })
        .partial(),
    ])
    .optional(),
  fallbackAgents: z.array(name).optional(),
  strategy: z.enum(routingModes).optional(),
})

export type CapabilityInput = z.output<typeof capabilityShape>

/** Maximum delay of `setTimeout`; a longer one fires at once. */
export const maxTimeoutMs = 2 ** 31 - 1

/** Fields that local and remote agents share. */
export const agentFields = {
  name,
  version: z.string().default(wireVersion),
  priority: z.number().int().default(100),
  concurrency: z.number().int().positive().default(1000),
  timeout: z.number().int().positive().max(maxTimeoutMs).optional(),
  capabilities: z.array(capabilityShape).min(1, 'must have at least one capability'),
}

/** Configuration of an agent that runs in another process. */
export const remoteShape = z.strictObject({
  ...agentFields,
  url: z.union([z.url({ protocol: /^https?$/ }), natsFields.url], {
    error: 'must be an address such as https://… or nats://…',
  }),
  /** Credentials for the NATS server; the agent itself checks `token`. */
  access: natsFields.access,
  /** Sent as a bearer token. */
  token: z.string().min(1).optional(),
  seal: z.strictObject({ format: z.enum(sealFormats).default('v2'), key: z.string() }).optional(),
  /** Node name of the remote runtime; the agent's name by default. */
  node: z.string().optional(),
})

export type RemoteAgentConfig = z.output<typeof remoteShape>
