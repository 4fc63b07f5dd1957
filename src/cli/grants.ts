import { defineCommand } from 'citty'
import {
  createGrant,
  type GrantPackage,
  issueToken,
  mintToken,
  openOwnerStore,
  toStanding,
  type WantedTerms,
} from '../runtime/owner-store.ts'
import { jsonFlag } from './open.ts'
import { print, printJson, say } from './print.ts'
import { UsageError } from './usage-error.ts'

const actions = ['list', 'create', 'show', 'token', 'revoke'] as const
type Action = (typeof actions)[number]

export const grants = defineCommand({
  meta: {
    name: 'grants',
    description: 'Who may read what: drawbridge grants [list|create|show|token|revoke] [ID].',
  },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'list',
      description: actions.join(', '),
    },
    id: { type: 'positional', required: false, description: 'which one' },
    store: { type: 'string', default: './personal.db', description: 'the store (./personal.db)' },
    client: { type: 'string', description: 'who it is for' },
    stream: {
      type: 'string',
      description: 'what may be read; repeat it, each with the options below',
    },
    fields: { type: 'string', description: 'only these fields, separated by commas' },
    view: { type: 'string', description: 'only the fields this view has now' },
    connection: { type: 'string', description: 'only this connection (all that there are now)' },
    since: { type: 'string', description: 'only from this time on' },
    until: { type: 'string', description: 'only before this time' },
    resources: { type: 'string', description: 'only these records, by id, separated by commas' },
    expires: { type: 'string', description: 'when it ends' },
    single: { type: 'boolean', description: 'for one use: one token, which ends within the hour' },
    owner: {
      type: 'boolean',
      description: "mint an owner's token instead, which no reader may use",
    },
    reads: { type: 'boolean', description: 'show: what was read under it' },
    json: jsonFlag,
  },
  async run({ args, rawArgs }) {
    const action = actions.find((one) => one === args.action)
    if (!action)
      throw new UsageError(`There is no "${args.action}". There is: ${actions.join(', ')}`)
    return run[action](args as Arguments, rawArgs)
  },
})

interface Arguments {
  readonly id?: string
  readonly store: string
  readonly client?: string
  readonly expires?: string
  readonly single?: boolean
  readonly owner?: boolean
  readonly reads?: boolean
  readonly json?: boolean
}

const run: Readonly<Record<Action, (args: Arguments, words: readonly string[]) => number>> = {
  create({ store, client, expires, single, owner }, words) {
    const writer = openOwnerStore(store, false)
    try {
      if (owner) {
        const token = mintToken()
        writer.addOwnerToken(token)
        printJson({ token })
        return 0
      }
      if (client === undefined) throw new UsageError('Say who it is for: --client NAME')
      const { given, token } = createGrant(
        writer,
        {
          client,
          streams: toTerms(words),
          ...(expires !== undefined && { expires }),
          mode: single ? 'single_use' : 'continuous',
        },
        Date.now(),
      )
      say('The token is shown once. Over HTTP it is the bearer; on stdio it is DRAWBRIDGE_TOKEN.')
      printJson({ ...toSummary(given), token })
      return 0
    } finally {
      writer.close()
    }
  },
  list({ store, json }) {
    const writer = openOwnerStore(store, false)
    try {
      const rows = writer.packages.map(toRow)
      if (json) printJson(rows)
      else
        for (const { id, client, state, streams } of rows)
          print(`${id} ${state.padEnd(8)} ${client} ${streams.join(' ')}`)
      return 0
    } finally {
      writer.close()
    }
  },
  show({ store, id, reads }) {
    const writer = openOwnerStore(store, false)
    try {
      const found = writer.packages.find((one) => isNamed(one, id))
      if (!found) return no(id)
      const log = reads ? writer.reads(found.id) : undefined
      if (log?.broken !== undefined) say(`The log was changed at entry ${log.broken}.`)
      printJson({
        ...toRow(found),
        grants: found.grants,
        ...(log && {
          reads: log.records.map(({ n, at, entry }) => ({
            id: String(n),
            at: new Date(at).toISOString(),
            ...entry,
          })),
        }),
      })
      return log?.broken === undefined ? 0 : 1
    } finally {
      writer.close()
    }
  },
  token({ store, id }) {
    const writer = openOwnerStore(store, false)
    try {
      if (id === undefined) throw new UsageError('Say which one: drawbridge grants token ID')
      const issued = issueToken(writer, id, Date.now())
      if ('refusal' in issued) {
        if (issued.refusal === 'unknown') return no(id)
        say(`${issued.refusal}: ${refusals[issued.refusal]}`)
        return 1
      }
      printJson({ ...toSummary(issued.given), token: issued.token })
      return 0
    } finally {
      writer.close()
    }
  },
  revoke({ store, id, json }) {
    const writer = openOwnerStore(store, false)
    try {
      if (id === undefined) throw new UsageError('Say which one: drawbridge grants revoke ID')
      if (!writer.revoke(id, Date.now())) return no(id)
      if (json) printJson({ id, revoked: true })
      else print(`${id} is revoked.`)
      return 0
    } finally {
      writer.close()
    }
  },
}

const refusals = {
  grant_consumed: 'It was for a single use, and its token was given out. Create another grant.',
  grant_revoked: 'It was revoked. Create another grant.',
  grant_expired: 'It has ended. Create another grant.',
}

function no(id: string | undefined): number {
  say(`There is no grant ${id ?? ''}.`)
  return 1
}

const isNamed = ({ id, grants: parts }: GrantPackage, name: string | undefined): boolean =>
  id === name || parts.some((one) => one.id === name)

/** A grant of one connection goes by its own id, several by that of all of them. */
function toSummary({ id, grants: parts, expiresAt }: GrantPackage) {
  const [only, ...others] = parts
  const single = only && others.length === 0
  return {
    grant_id: single ? only.id : id,
    ...(!single && {
      grants: parts.map((one) => ({ grant_id: one.id, connection_id: one.connection })),
    }),
    ...(expiresAt !== undefined && { expires_at: new Date(expiresAt).toISOString() }),
  }
}

function toRow(given: GrantPackage) {
  const { grant_id } = toSummary(given)
  return {
    id: grant_id,
    client: given.client,
    state: toStanding(given, Date.now()),
    mode: given.mode,
    created_at: new Date(given.createdAt).toISOString(),
    ...(given.consumedAt !== undefined && {
      consumed_at: new Date(given.consumedAt).toISOString(),
    }),
    ...(given.expiresAt !== undefined && { expires_at: new Date(given.expiresAt).toISOString() }),
    streams: given.grants.flatMap(({ connection, streams, revokedAt }) =>
      revokedAt === undefined ? streams.map(({ stream }) => `${connection}/${stream}`) : [],
    ),
  }
}

const perStream = ['fields', 'view', 'connection', 'since', 'until', 'resources'] as const

/** Options belong to the stream before them; those before the first belong to all. */
function toTerms(words: readonly string[]): readonly WantedTerms[] {
  const common: Record<string, string> = {}
  const streams: Record<string, string>[] = []
  for (let at = 0; at < words.length; at++) {
    const [flag = '', given] = (words[at] ?? '').split(/=(.*)/s)
    const name = flag.replace(/^--/, '')
    if (name !== 'stream' && !perStream.some((one) => one === name)) continue
    const value = given ?? words[++at] ?? ''
    if (name === 'stream') streams.push({ stream: value })
    else (streams.at(-1) ?? common)[name] = value
  }
  if (streams.length === 0) throw new UsageError('Say what may be read: --stream NAME')
  return streams.map((one) => {
    const { stream = '', fields, resources, ...rest } = { ...common, ...one }
    return {
      stream,
      ...rest,
      ...(fields !== undefined && { fields: toList(fields) }),
      ...(resources !== undefined && { resources: toList(resources) }),
    }
  })
}

const toList = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
