import { z } from 'zod'
import { digestJson } from '../../../capability/digest-json.ts'
import { ways } from '../agents/agent.ts'
import { capabilityShape, maxTimeoutMs } from '../agents/read-agent.ts'
import { remoteShape } from '../agents/remote-agent.ts'
import { sealFormats } from '../crypto/envelope-seal.ts'
import { natsFields } from '../transport/nats/address.ts'
import type { RoutingPolicy } from './choose-agents.ts'

/** What a node is called that nobody has named. */
export const nameless = 'drawbridge'

const milliseconds = z.number().int().positive().max(maxTimeoutMs)

/** How intents are routed: `docs/intents.md` describes each. */
export const routingFields = {
  remote: z.array(remoteShape).default([]),
  /** Intents that are offered even while nobody serves them. */
  declared: z.array(capabilityShape).default([]),
  strategy: z.enum(ways).default('fallback'),
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
  /** What this side calls itself to other runtimes. */
  node: z.string().min(1).default(nameless),
  keys: z.record(z.string().min(1), z.string()).default({}),
  /** Which of the keys makes payloads in the log unreadable to others. */
  logKey: z.string().optional(),
  /** Where other runtimes may ask. */
  serve: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\w./-]+$/, 'must be a path such as /intents')
        .optional(),
      nats: z
        .strictObject({
          ...natsFields,
          /** Milliseconds between two announcements; three missed ones mean that it is gone. */
          heartbeat: milliseconds.min(20).max(60_000).default(5000),
        })
        .optional(),
      /** Only sealed requests are taken. */
      seal: z
        .strictObject({ format: z.enum(sealFormats).default('v2'), key: z.string() })
        .optional(),
    })
    .refine(({ path, nats }) => path ?? nats, 'needs a path, or nats')
    .optional(),
  /** Agents that announce themselves are asked, too. */
  discover: z
    .strictObject({
      ...natsFields,
      /** What the agents want to see. */
      token: z.string().min(1).optional(),
      /** Only who has the key is believed, and whoever is asked is asked in sealed envelopes. */
      seal: z.strictObject({ key: z.string() }).optional(),
    })
    .optional(),
}

const routingShape = z.strictObject(routingFields)
export type RoutingInput = z.input<typeof routingShape>
export type RoutingSettings = z.output<typeof routingShape>

export const readRouting = (input: RoutingInput): RoutingSettings => routingShape.parse(input)

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
