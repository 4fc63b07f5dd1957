import { defineCommand } from 'citty'
import { isFault } from '../../capability/fault.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { OwnerStore } from '../../runtime/records/owner-store.ts'
import {
  createGrant,
  createOwnerToken,
  issueToken,
  unknownGrant,
} from '../../sources/records/grants/issue-tokens.ts'
import { tokenPrefix } from '../../sources/records/grants/token-gate.ts'
import type { GrantPackage } from '../../sources/records/model/grant.ts'
import { descriptions } from '../descriptions.ts'
import { jsonFlag, storeFlag } from '../terminal/flags.ts'
import { fail, print, printJson, printMessage } from '../terminal/print.ts'
import { readAction, requireId } from '../terminal/read-arguments.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { toGrantDetails, toOwnerRow, toRow, toSummary } from './grant-rows.ts'
import { refuseTerms, toTerms } from './read-grant-flags.ts'
import { withOwnerStore } from './with-owner-store.ts'

const actions = ['list', 'create', 'show', 'token', 'revoke'] as const

export const grants = defineCommand({
  meta: { name: 'grants', description: descriptions.grants },
  args: {
    action: {
      type: 'positional',
      required: false,
      default: 'list',
      description: actions.join(', '),
    },
    id: { type: 'positional', required: false, description: 'id of a grant or an owner token' },
    store: storeFlag,
    client: { type: 'string', description: 'the reader that gets the grant' },
    stream: {
      type: 'string',
      description: 'a stream that may be read; repeatable, each with the flags below',
    },
    fields: { type: 'string', description: 'only these fields, separated by commas' },
    view: { type: 'string', description: 'only the fields that this view has now' },
    connection: {
      type: 'string',
      description: 'only this connection (default: all existing connections)',
    },
    since: { type: 'string', description: 'only records from this time on' },
    until: { type: 'string', description: 'only records before this time' },
    resources: { type: 'string', description: 'only these record ids, separated by commas' },
    expires: { type: 'string', description: 'when the grant or owner token expires' },
    single: { type: 'boolean', description: 'single use: one token, which expires in an hour' },
    owner: {
      type: 'boolean',
      description: 'create an owner token instead, which writes records and cannot read',
    },
    reads: { type: 'boolean', description: 'show: include the log of reads' },
    json: jsonFlag,
  },
  async run({ args, rawArgs }) {
    const { json = false, reads = false } = args
    if (isToken(args.action)) throw new UsageError(tokenInsteadOfId)
    const action = readAction(actions, args.action)
    if (action === 'list') return withOwnerStore(args.store, (store) => list(store, json))
    if (action === 'create') {
      if (args.owner) refuseTerms(args)
      return withOwnerStore(args.store, (store) =>
        args.owner ? createOwner(store, args.expires) : create(store, args, rawArgs),
      )
    }
    const id = requireId('grants', action, args.id)
    return withOwnerStore(args.store, (store) => {
      if (isToken(id)) throw toTokenError(store, id)
      switch (action) {
        case 'show':
          return show(store, id, reads)
        case 'token':
          return issue(store, id)
        case 'revoke':
          return revoke(store, id, json)
      }
    })
  },
})

function list(store: OwnerStore, json: boolean): number {
  const now = Date.now()
  const rows = store.packages.map((one) => toRow(one, now))
  const owners = store.owners.map((one) => toOwnerRow(one, now))
  if (json) printJson([...rows, ...owners])
  else {
    for (const { id, client, state, streams } of rows)
      print(`${id} ${state.padEnd(8)} ${client} ${streams.join(' ')}`)
    for (const { id, state } of owners) print(`${id} ${state.padEnd(8)} owner`)
  }
  return 0
}

interface CreateFlags {
  readonly client?: string | undefined
  readonly expires?: string | undefined
  readonly single?: boolean | undefined
}

function create(
  store: OwnerStore,
  { client, expires, single = false }: CreateFlags,
  words: readonly string[],
): number {
  if (client === undefined) throw new UsageError('Name the reader: --client NAME')
  const mode = single ? 'single_use' : 'continuous'
  const request = { client, streams: toTerms(words), mode, ...dropUndefined({ expires }) } as const
  const { grantPackage, token, missingRecords } = createGrant(store, request, Date.now())
  if (missingRecords.length > 0)
    printMessage(
      `The store has no record ${missingRecords.join(', ')} yet. The grant covers it if it is imported later.`,
    )
  printMessage(
    'The token is shown only once. Over HTTP, send it as the bearer token; over stdio, set DRAWBRIDGE_TOKEN.',
  )
  printJson({ ...toSummary(grantPackage), token })
  return 0
}

function createOwner(store: OwnerStore, expires: string | undefined): number {
  const { owner, token } = createOwnerToken(store, expires, Date.now())
  printMessage(
    'The token is shown only once. It writes records and cannot read; "grants revoke" ends it.',
  )
  const { id, expires_at } = toOwnerRow(owner, Date.now())
  printJson({ id, ...dropUndefined({ expires_at }), token })
  return 0
}

function show(store: OwnerStore, id: string, reads: boolean): number {
  const owner = store.owners.find((one) => one.id === id)
  if (owner) {
    printJson({ ...toOwnerRow(owner, Date.now()), reads: reads ? [] : undefined })
    return 0
  }
  const grantPackage = store.packages.find((one) => hasId(one, id))
  if (!grantPackage) return fail(unknownGrant(id))
  const log = reads ? store.listDisclosures(grantPackage.id) : undefined
  if (log?.broken !== undefined)
    printMessage(`The log of reads was tampered with at entry ${log.broken}.`)
  printJson({
    ...toRow(grantPackage, Date.now()),
    grants: toGrantDetails(grantPackage),
    reads: log?.records.map(({ n, at, entry }) => ({
      id: String(n),
      at: new Date(at).toISOString(),
      ...entry,
    })),
  })
  return log?.broken === undefined ? 0 : 1
}

function issue(store: OwnerStore, id: string): number {
  if (store.owners.some((one) => one.id === id))
    return fail(`${id} is an owner token. "drawbridge grants create --owner" creates another.`)
  const result = issueToken(store, id, Date.now())
  if (isFault(result)) return fail(result.fault)
  printJson({ ...toSummary(result.grantPackage), token: result.token })
  return 0
}

function revoke(store: OwnerStore, id: string, json: boolean): number {
  if (!store.revoke(id, Date.now())) return fail(unknownGrant(id))
  if (json) printJson({ id, revoked: true })
  else print(`${id} is revoked.`)
  return 0
}

const hasId = (grantPackage: GrantPackage, id: string): boolean =>
  grantPackage.id === id || grantPackage.grants.some((one) => one.id === id)

const isToken = (word: string): boolean => word.includes(tokenPrefix)

const tokenInsteadOfId = 'That is a token, not an id. "drawbridge grants list" shows the ids.'

/** Does not repeat the token: terminal output is often logged and shared. */
function toTokenError(store: OwnerStore, token: string): UsageError {
  const storedToken = store.findToken(token)
  const grantPackage = store.packages.find(
    ({ id }) => storedToken?.kind === 'client' && id === storedToken.package,
  )
  const id =
    storedToken?.kind === 'owner'
      ? storedToken.owner.id
      : grantPackage && toSummary(grantPackage).grant_id
  return new UsageError(
    id === undefined ? tokenInsteadOfId : `That is a token, not an id. Its id is ${id}.`,
  )
}
