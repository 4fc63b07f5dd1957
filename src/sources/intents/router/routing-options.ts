import { z } from 'zod'
import { digestJson } from '../../../json/digest-json.ts'
import { routingModes } from '../agents/agent.ts'
import { capabilityShape, maxTimeoutMs, remoteShape } from '../agents/agent-shapes.ts'
import { sealFormats } from '../crypto/seal-formats.ts'
import type { RoutingOptions } from '../intent-options.ts'
import { natsFields } from '../transport/nats/address.ts'
import type { RoutingPolicy } from './choose-agents.ts'

/** The default node name. */
export const defaultNode = 'drawbridge'

const milliseconds = z.number().int().positive().max(maxTimeoutMs)

/** Configuration of routing; `RoutingOptions` documents each key. */
export const routingFields = {
  remote: z.array(remoteShape).default([]),
  /** Intents that are listed even while no agent serves them. */
  declared: z.array(capabilityShape).default([]),
  strategy: z.enum(routingModes).default('fallback'),
  timeout: milliseconds.default(30_000),
  attemptTimeout: milliseconds.default(10_000),
  retries: z.number().int().min(0).max(10).default(0),
  backoff: z.number().int().min(0).default(100),
  ejection: z
    .strictObject({
      failures: z.number().int().positive().default(5),
      seconds: z.number().positive().default(30),
    })
    .prefault({}),
  /** Name of this node to other runtimes. */
  node: z.string().min(1).default(defaultNode),
  keys: z.record(z.string().min(1), z.string()).default({}),
  /** Id of the key that encrypts payloads in the execution log. */
  logKey: z.string().optional(),
  /** Endpoints for other runtimes. */
  serve: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\w./-]+$/, 'must be a path such as /intents')
        .optional(),
      nats: z
        .strictObject({
          ...natsFields,
          /** Milliseconds between two announcements; a node that misses three counts as absent. */
          heartbeat: milliseconds.min(20).max(60_000).default(5000),
        })
        .optional(),
      /** Accept sealed requests only. */
      seal: z
        .strictObject({ format: z.enum(sealFormats).default('v2'), key: z.string() })
        .optional(),
    })
    .refine(({ path, nats }) => path ?? nats, 'needs "path" or "nats"')
    .optional(),
  /** Discovery of agents that announce themselves over NATS. */
  discover: z
    .strictObject({
      ...natsFields,
      /** Bearer token for the agents. */
      token: z.string().min(1).optional(),
      /** Accept only announcements sealed with the key, and seal all requests. */
      seal: z.strictObject({ key: z.string() }).optional(),
    })
    .optional(),
}

const routingShape = z.strictObject(routingFields)
export type RoutingInput = z.input<typeof routingShape>
export type RoutingSettings = z.output<typeof routingShape>

export const readRouting = (input: RoutingOptions): RoutingSettings => routingShape.parse(input)

export function toPolicy({
  strategy,
  timeout,
  attemptTimeout,
  retries,
  backoff,
}: RoutingSettings): RoutingPolicy {
  const rules = { strategy, timeout, attemptTimeout, retries, backoff }
  return Object.freeze({ ...rules, hash: digestJson(rules) })
}
