import { defineCommand } from 'citty'
import {
  createGrant,
  createOwner,
  type GrantPackage,
  issueToken,
  type RecordWriter,
  tokenPrefix,
} from '../../runtime/records/owner-store.ts'
import { jsonFlag, storeFlag } from '../terminal/flags.ts'
import { no, print, printJson, say } from '../terminal/print.ts'
import { needId, readAction } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { toOwnerRow, toParts, toRow, toSummary } from './grant-rows.ts'
import { refuseTerms, toTerms } from './read-grant-flags.ts'
import { withOwnerStore } from './with-owner-store.ts'

const actions = ['list', 'create', 'show', 'token', 'revoke'] as const

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
    store: storeFlag,
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
    const { store, json = false, reads = false } = args
    if (isToken(args.action)) throw new UsageError(tokenIsNoId)
    const action = readAction(actions, args.action)
    if (action === 'list') return withOwnerStore(store, (writer) => list(writer, json))
    if (action === 'create') {
      if (args.owner) refuseTerms(args)
      return withOwnerStore(store, (writer) =>
        args.owner ? mint(writer, args.expires) : create(writer, args, rawArgs),
      )
    }
    const id = needId('grants', action, args.id)
    return withOwnerStore(store, (writer) => {
      if (isToken(id)) return tellWhose(writer, id)
      switch (action) {
        case 'show':
          return show(writer, id, reads)
        case 'token':
          return token(writer, id)
        case 'revoke':
          return revoke(writer, id, json)
      }
    })
  },
})

function list(writer: RecordWriter, json: boolean): number {
  const now = Date.now()
  const rows = writer.packages.map((given) => toRow(given, now))
  const owners = writer.owners.map((owner) => toOwnerRow(owner, now))
  if (json) printJson([...rows, ...owners])
  else {
    for (const { id, client, state, streams } of rows)
      print(`${id} ${state.padEnd(8)} ${client} ${streams.join(' ')}`)
    for (const { id, state } of owners) print(`${id} ${state.padEnd(8)} owner`)
  }
  return 0
}

interface Wanted {
  readonly client?: string | undefined
  readonly expires?: string | undefined
  readonly single?: boolean | undefined
}

function create(
  writer: RecordWriter,
  { client, expires, single = false }: Wanted,
  words: readonly string[],
): number {
  if (client === undefined) throw new UsageError('Say who it is for: --client NAME')
  const { given, token, absent } = createGrant(
    writer,
    {
      client,
      streams: toTerms(words),
      ...(expires !== undefined && { expires }),
      mode: single ? 'single_use' : 'continuous',
    },
    Date.now(),
  )
  if (absent.length > 0)
    say(`There is no record ${absent.join(', ')} now. It is granted for when it comes.`)
  say('The token is shown once. Over HTTP it is the bearer; on stdio it is DRAWBRIDGE_TOKEN.')
  printJson({ ...toSummary(given), token })
  return 0
}

function mint(writer: RecordWriter, expires: string | undefined): number {
  const { owner, token } = createOwner(writer, expires, Date.now())
  say('The token is shown once. It puts records in, and reads none; "grants revoke" ends it.')
  const { id, expires_at } = toOwnerRow(owner, Date.now())
  printJson({ id, ...(expires_at !== undefined && { expires_at }), token })
  return 0
}

function show(writer: RecordWriter, id: string, reads: boolean): number {
  const owner = writer.owners.find((one) => one.id === id)
  if (owner) {
    printJson({ ...toOwnerRow(owner, Date.now()), ...(reads && { reads: [] }) })
    return 0
  }
  const found = writer.packages.find((one) => isNamed(one, id))
  if (!found) return unknown(id)
  const log = reads ? writer.reads(found.id) : undefined
  if (log?.broken !== undefined) say(`The log was changed at entry ${log.broken}.`)
  printJson({
    ...toRow(found, Date.now()),
    grants: toParts(found),
    ...(log && {
      reads: log.records.map(({ n, at, entry }) => ({
        id: String(n),
        at: new Date(at).toISOString(),
        ...entry,
      })),
    }),
  })
  return log?.broken === undefined ? 0 : 1
}

function token(writer: RecordWriter, id: string): number {
  if (writer.owners.some((one) => one.id === id))
    return no(`${id} is an owner's token. "drawbridge grants create --owner" makes another.`)
  const issued = issueToken(writer, id, Date.now())
  if (!('refusal' in issued)) {
    printJson({ ...toSummary(issued.given), token: issued.token })
    return 0
  }
  switch (issued.refusal) {
    case 'unknown':
      return unknown(id)
    case 'part':
      return no(
        `${id} is one of several that go by one token: drawbridge grants token ${issued.whole}`,
      )
    case 'grant_consumed':
    case 'grant_revoked':
    case 'grant_expired':
      return no(`${issued.refusal}: ${refusals[issued.refusal]}`)
  }
}

const refusals = {
  grant_consumed: 'It was for a single use, and its token was given out. Create another grant.',
  grant_revoked: 'It was revoked. Create another grant.',
  grant_expired: 'It has ended. Create another grant.',
}

function revoke(writer: RecordWriter, id: string, json: boolean): number {
  if (!writer.revoke(id, Date.now())) return unknown(id)
  if (json) printJson({ id, revoked: true })
  else print(`${id} is revoked.`)
  return 0
}

const isNamed = ({ id, grants: parts }: GrantPackage, name: string): boolean =>
  id === name || parts.some((one) => one.id === name)

const unknown = (id: string): number =>
  no(`There is no grant ${id}. "drawbridge grants list" shows those that there are.`)

const isToken = (word: string): boolean => word.includes(tokenPrefix)

const tokenIsNoId = 'That is a token, not an id. "drawbridge grants list" shows the ids.'

/** It is not said again, not even to whoever typed it: terminals are kept and shared. */
function tellWhose(writer: RecordWriter, word: string): never {
  const found = writer.findToken(word)
  const given = writer.packages.find(({ id }) => found?.kind === 'client' && id === found.package)
  const id = found?.kind === 'owner' ? found.owner.id : given && toSummary(given).grant_id
  throw new UsageError(
    id === undefined ? tokenIsNoId : `That is a token, not an id. Its id is ${id}.`,
  )
}
