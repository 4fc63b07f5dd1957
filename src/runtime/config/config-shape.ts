import { z } from 'zod'
import { isReservedSubject } from '../../capability/caller.ts'
import { isFault } from '../../capability/fault.ts'
import { type SchemaProfileName, schemaProfiles } from '../../mcp/schemas/profiles.ts'
import { categories as toolCategories } from '../../sources/definitions/tool-definition.ts'
import { routingFields } from '../../sources/intents/router/routing-options.ts'
import {
  linkExposures,
  stateExposures,
  stringMeanings,
  visibilities,
} from '../../sources/services/options.ts'
import { readAllowRule, readEgressRule } from '../../upstream/egress/egress-rules.ts'
import { isLoopbackHost } from '../../upstream/loopback.ts'

const names = z.enum(['portable', 'literal'])
const schemas = z.enum(Object.keys(schemaProfiles) as SchemaProfileName[])
const path = z.string().regex(/^\/[\w./-]*$/, 'must be a path such as /mcp')
const placement = { prefix: z.string().min(1).optional(), mount: path.default('/mcp') }

const paths = z.union([z.string(), z.array(z.string())])

/** Paths of agent modules, or a mapping with routing options. */
const intents = z.union([
  paths,
  z.strictObject({
    ...routingFields,
    agents: paths.default([]),
    keys: z
      .record(z.string().min(1), z.union([z.string(), z.strictObject({ file: z.string() })]))
      .default({}),
  }),
])

/** HTTPS, or plain HTTP to this machine. */
function isHttpsOrLoopback(url: string): boolean {
  if (/^https:/i.test(url)) return true
  const [, ipv6 = '', name = ipv6] = plainUrl.exec(url) ?? []
  return isLoopbackHost(name.toLowerCase())
}

/** The host as it is written: a URL with a user or an unusual spelling of an address is refused. */
const plainUrl = /^http:\/\/(?:\[([^\]]*)\]|([^/:]+))(?::\d+)?(?:\/|$)/i

const remoteRecords = z.strictObject({
  server: z
    .url({ protocol: /^https?$/ })
    .refine(
      isHttpsOrLoopback,
      'must be https://, or on this machine: every request carries a token',
    ),
  token: z.string().min(1),
})

const hash = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits')

const host = z
  .string()
  .regex(/^[^/@\s]+$/, 'must be a host such as api.example.com, with a port if the URL has one')

const secretBinding = z.strictObject({ id: z.string().min(2), host })

/** An API key or token; a user and password; or OAuth 2 client credentials. */
const toSchemeSecret = <Value extends z.ZodType>(text: z.ZodType<string>, value: Value) =>
  z.union(
    [
      z.strictObject({ host, value }),
      z.strictObject({ host, user: text, password: text }),
      z.strictObject({
        host,
        clientId: text,
        clientSecret: text,
        tokenHost: host.optional(),
        tokenAuth: z.enum(['basic', 'body']).optional(),
      }),
    ],
    {
      error:
        'must be { host, value }, { host, user, password }, or { host, clientId, clientSecret } with tokenHost and tokenAuth if needed',
    },
  )

/** A pattern for the id of an operation, or several conditions that must all hold. */
const selector = z.union([
  z.string().transform((operation) => ({ operation })),
  z
    .strictObject({
      tag: z.string(),
      path: z.string(),
      operation: z.string(),
      method: z.string(),
    })
    .partial()
    .refine((one) => Object.keys(one).length > 0, 'must have tag, path, operation or method'),
])

const effects = z.strictObject({
  writes: z.boolean().exactOptional(),
  irreversible: z.boolean().exactOptional(),
  repeatable: z.boolean().exactOptional(),
  reachesOut: z.boolean().exactOptional(),
})

const openApiFields = {
  digest: hash.optional(),
  include: z.array(selector).default([]),
  exclude: z.array(selector).default([]),
  overlay: z.string().optional(),
  server: z.url({ protocol: /^https?$/ }).optional(),
  variables: z.record(z.string(), z.string()).optional(),
  effects: z.record(z.string().min(1), effects).default({}),
  outputs: z.boolean().default(false),
}

/** By the name of the security scheme that gets the secret. */
const toSchemeSecrets = <Secret extends z.ZodType>(secret: Secret) =>
  z.record(z.string().min(1), secret).default({})

const programText = z
  .string()
  .refine(
    (text) => !text.startsWith('env://'),
    'env:// is read in drawbridge.yaml only: use process.env here',
  )

/** Options of `openApiSource`: values of secrets may be functions, and are never looked up in the environment. */
export const openApiOptionsShape = z.strictObject({
  id: z.string().min(1).optional(),
  ...openApiFields,
  secrets: toSchemeSecrets(
    toSchemeSecret(
      programText,
      z.union([
        programText,
        z.custom<() => Promise<string | undefined>>((value) => typeof value === 'function'),
      ]),
    ),
  ),
})

/** An absent option is taken from the service's module, then from the default. */
const service = {
  id: z.string().min(1).optional(),
  visibility: z.enum(visibilities).optional(),
  states: z.enum(stateExposures).optional(),
  links: z.enum(linkExposures).optional(),
  strings: z.enum(stringMeanings).optional(),
  readiness: z.number().int().min(0).optional(),
  depth: z.number().int().min(0).optional(),
  effects: z.record(z.string(), effects).optional(),
}

/** One key names the kind of source, its value the location. */
const source = z.union([
  z.strictObject({
    manifest: z.string(),
    handlers: z.string().optional(),
    /** Namespaces of fields that manifest v0.1 does not define and that are projected nevertheless. */
    extensions: z.array(z.string().regex(/^x-[\w.-]+$/, 'must be like x-acme')).default([]),
    strict: z.boolean().default(true),
    all: z.boolean().default(false),
    compose: z.boolean().default(false),
    schemas: z.record(z.url({ protocol: /^https$/ }), hash).default({}),
    /** By the name of the interface that gets the secret. */
    secrets: z.record(z.string().min(1), secretBinding).default({}),
    /** By the name of the HTTP interface that `check --live` reads it from. */
    probes: z.record(z.string().min(1), z.string().startsWith('/')).default({}),
    ...placement,
  }),
  z.strictObject({
    definitions: paths,
    /** By tool name, with globs: for tools whose files declare none. */
    categories: z.record(z.string().min(1), z.enum(toolCategories)).default({}),
    ...placement,
  }),
  z.strictObject({
    openapi: z.string(),
    ...openApiFields,
    secrets: toSchemeSecrets(toSchemeSecret(z.string(), z.string())),
    ...placement,
  }),
  z.strictObject({ intents, ...placement }),
  z.strictObject({ records: z.union([z.string(), remoteRecords]), ...placement }),
  z.strictObject({ source: z.string(), ...placement }),
  z.strictObject({ service: z.string(), ...service, ...placement }),
  z.strictObject({ module: z.string(), ...placement }),
])

const token = z.strictObject({
  hash,
  subject: z
    .string()
    .refine((subject) => subject.trim() !== '', 'must not be empty')
    .refine(
      (subject) => !isReservedSubject(subject),
      'is reserved for a built-in caller: choose another subject',
    ),
  scopes: z.array(z.string()).default([]),
})

const thresholds = z
  .strictObject({
    alert: z.number().min(0).default(80),
    reauthorise: z.number().min(0).default(100),
    stop: z.number().min(0).default(120),
    inclusive: z.boolean().optional(),
  })
  .prefault({})

const budget = z.strictObject({
  limit: z.number().min(0),
  unit: z.string().min(1).default('calls'),
  per: z.enum(['caller', 'source', 'capability']).default('caller'),
  window: z.enum(['call', 'day', 'month']).default('day'),
  thresholds,
})

/** The words for groups stand alone: in a list they would be names that nobody has. */
const approverName = z
  .string()
  .regex(
    /^(?!(self|others)$).*\S/s,
    'must be a name; "self" and "others" stand alone, not in a list',
  )

const rule = z.strictObject({
  match: z
    .union([z.string(), z.array(z.string()).min(1)], {
      error: 'must be a name, a pattern such as "delete_*", or a list of them',
    })
    .transform((names) => [names].flat()),
  writes: z.boolean().optional(),
  permissions: z.array(z.string()).optional(),
  approval: z.boolean().optional(),
  approvers: z
    .union([z.enum(['self', 'others']), z.array(approverName).min(1)], {
      error: 'must be "self", "others", or a list of names',
    })
    .optional(),
  idempotencyKey: z.boolean().optional(),
  cost: z.strictObject({ amount: z.number().min(0), unit: z.string() }).optional(),
  budgets: z.array(budget).optional(),
  rates: z
    .array(z.strictObject({ calls: z.number().int().positive(), seconds: z.number().positive() }))
    .optional(),
  timeout: z.number().int().positive().optional(),
  recordArguments: z.boolean().optional(),
})

const egressRule = (read: typeof readEgressRule) =>
  z.string().superRefine((text, context) => {
    const rule = read(text)
    if (isFault(rule)) context.addIssue({ code: 'custom', message: rule.fault })
  })

const seconds = (fallback: number) => z.number().min(0).default(fallback)

/** Where checkpoints of the audit are sent. */
const checkpointTarget = z.union(
  [
    z.strictObject({ file: z.string().min(1) }),
    z.strictObject({ command: z.array(z.string().min(1)).min(1) }),
    z.strictObject({
      url: z
        .url({ protocol: /^https?$/ })
        .refine(isHttpsOrLoopback, 'must be https://, or on this machine'),
      token: z.string().min(1).optional(),
    }),
  ],
  { error: 'must be { file }, { command: [program, …] } or { url, token }' },
)

/** The shape of `drawbridge.yaml`, described in `docs/configuration.md`. */
export const configShape = z.strictObject({
  name: z.string().min(1).optional(),
  /** Reverse DNS prefix of the name in a registry. */
  namespace: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, 'must be reverse DNS such as com.acme')
    .optional(),
  version: z.string().optional(),
  description: z.string().optional(),
  instructions: z.string().optional(),
  sources: z.array(source).default([]),
  mounts: z
    .record(
      path,
      z.strictObject({ names: names.default('portable'), schemas: schemas.default('portable') }),
    )
    .default({}),
  policy: z
    .strictObject({
      mode: z.enum(['enforce', 'observe']).default('enforce'),
      rules: z.array(rule).default([]),
      text: z.enum(['strip', 'refuse', 'keep']).default('strip'),
      keys: z.strictObject({ window: seconds(24 * 60 * 60) }).prefault({}),
      duplicates: z.strictObject({ window: seconds(60) }).prefault({}),
      executions: z.strictObject({ keep: seconds(30 * 24 * 60 * 60) }).prefault({}),
      approvals: z.strictObject({ asked: seconds(600), pending: seconds(3600) }).prefault({}),
      egress: z
        .strictObject({
          allow: z.array(egressRule(readAllowRule)).optional(),
          deny: z.array(egressRule(readEgressRule)).default([]),
        })
        .prefault({}),
      limits: z
        .strictObject({
          timeout: z.number().int().positive().default(30_000),
          resultSize: z
            .number()
            .int()
            .positive()
            .default(4 * 1024 * 1024),
          concurrentCalls: z.number().int().positive().default(256),
        })
        .prefault({}),
    })
    .prefault({}),
  store: z.string().optional(),
  audit: z
    .strictObject({
      checkpoints: z
        .strictObject({ every: z.number().min(1).default(60), to: checkpointTarget })
        .optional(),
    })
    .prefault({}),
  http: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: z.number().int().min(0).max(65535).default(4747),
      hosts: z.array(z.string()).default([]),
      origins: z.array(z.url()).default([]),
      tokens: z.array(token).min(1).optional(),
      bodyLimit: z
        .number()
        .int()
        .positive()
        .default(4 * 1024 * 1024),
      bodyValues: z.number().int().positive().default(100_000),
    })
    .prefault({}),
})

export type Config = z.output<typeof configShape>
export type ConfigInput = z.input<typeof configShape>
export type SourceConfig = Config['sources'][number]
