import { z } from 'zod'
import { ways } from './agent.ts'
import type { RoutingPolicy } from './decide.ts'
import { toDigest } from './digest.ts'
import { sealFormats } from './envelope-seal.ts'
import { capabilityShape } from './read-agent.ts'
import { remoteShape } from './remote-agent.ts'

const milliseconds = z.number().int().positive()

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
  node: z.string().min(1).default('drawbridge'),
  keys: z.record(z.string().min(1), z.string()).default({}),
  /** Which of the keys makes payloads in the log unreadable to others. */
  logKey: z.string().optional(),
  /** Where other runtimes may ask. */
  serve: z
    .strictObject({
      path: z.string().regex(/^\/[\w./-]+$/, 'must be a path such as /intents'),
      /** Only sealed requests are taken. */
      seal: z
        .strictObject({ format: z.enum(sealFormats).default('v2'), key: z.string() })
        .optional(),
    })
    .optional(),
}

const routingShape = z.strictObject(routingFields)
export type RoutingInput = z.input<typeof routingShape>
export type Routing = z.output<typeof routingShape>

export const readRouting = (input: RoutingInput): Routing => routingShape.parse(input)

export function toPolicy({
  strategy,
  timeout,
  attemptTimeout,
  retries,
  backoff,
}: Routing): RoutingPolicy {
  const rules = { strategy, timeout, attemptTimeout, retries, backoff }
  return Object.freeze({ ...rules, hash: toDigest(rules) })
}
