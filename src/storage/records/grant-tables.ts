import { hash } from 'node:crypto'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type {
  Grant,
  GrantPackage,
  OwnerToken,
  StoredToken,
} from '../../sources/records/model/grant.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

interface PackageRow {
  readonly id: string
  readonly client: string
  readonly created: number
  readonly expires: number | null
  readonly mode: GrantPackage['mode']
  readonly revoked: number | null
  readonly consumed: number | null
}

interface GrantRow {
  readonly id: string
  readonly connection: string
  readonly streams: string
  readonly revoked: number | null
}

interface OwnerRow {
  readonly id: string
  readonly created: number | null
  readonly expires: number | null
  readonly revoked: number | null
}

const maxCachedPackages = 1000

/** Grants and tokens. Only the SHA-256 of a token is stored, so the file reveals none. */
export class GrantTables {
  readonly #database: Sqlite
  readonly #cache = new Map<string, { fingerprint: string; grantPackage: GrantPackage }>()

  constructor(database: Sqlite) {
    this.#database = database
  }

  findToken(token: string): StoredToken | undefined {
    const row = this.#database
      .prepare<{ kind: string; package: string | null }>(
        'select kind, package from tokens where hash = ?',
      )
      .get(digest(token))
    if (row?.kind === 'owner') return { kind: 'owner', owner: this.#findOwner(token) }
    return row?.package ? { kind: 'client', package: row.package } : undefined
  }

  #findOwner(token: string): OwnerToken {
    const row = this.#database
      .prepare<OwnerRow>('select id, created, expires, revoked from owners where hash = ?')
      .get(digest(token))
    if (!row) throw new Error('An owner token has no row in the table owners.')
    return toOwner(row)
  }

  owners(): readonly OwnerToken[] {
    return this.#database
      .prepare<OwnerRow>('select id, created, expires, revoked from owners order by created, id')
      .all()
      .map(toOwner)
  }

  addOwner({ id, createdAt, expiresAt }: OwnerToken, token: string): void {
    this.#addToken(token, 'owner', null)
    this.#database
      .prepare('insert into owners (id, hash, created, expires) values (?, ?, ?, ?)')
      .run(id, digest(token), createdAt ?? null, expiresAt ?? null)
  }

  find(id: string): GrantPackage | undefined {
    const row = this.#database
      .prepare<PackageRow>(
        `select id, client, created, expires, mode, revoked, consumed
         from packages where id = ?`,
      )
      .get(id)
    return row && this.#toPackage(row)
  }

  list(): readonly GrantPackage[] {
    return this.#database
      .prepare<PackageRow>(
        `select id, client, created, expires, mode, revoked, consumed
         from packages order by created, id`,
      )
      .all()
      .map((row) => this.#toPackage(row))
  }

  add(grantPackage: GrantPackage, token: string): void {
    const { id, client, createdAt, expiresAt, mode, grants } = grantPackage
    this.#database
      .prepare('insert into packages (id, client, created, expires, mode) values (?, ?, ?, ?, ?)')
      .run(id, client, createdAt, expiresAt ?? null, mode)
    const put = this.#database.prepare(
      'insert into grants (id, package, place, connection, streams) values (?, ?, ?, ?, ?)',
    )
    for (const [place, grant] of grants.entries())
      put.run(grant.id, id, place, grant.connection, JSON.stringify(grant.streams))
    this.issue(id, token, createdAt)
  }

  /** Stores another token of a package; `false` for a `single_use` package that had its token already. */
  issue(id: string, token: string, at: number): boolean {
    const { changes } = this.#database
      .prepare(
        `update packages set consumed = coalesce(consumed, ?)
         where id = ? and (mode <> 'single_use' or consumed is null)`,
      )
      .run(at, id)
    if (changes > 0) this.#addToken(token, 'client', id)
    return changes > 0
  }

  #addToken(token: string, kind: StoredToken['kind'], packageId: string | null): void {
    this.#database
      .prepare('insert into tokens (hash, kind, package) values (?, ?, ?)')
      .run(digest(token), kind, packageId)
  }

  /** Revokes a package, a single grant or an owner token; `false` when the id is unknown. */
  revoke(id: string, at: number): boolean {
    const changes = ['packages', 'grants', 'owners'].map(
      (table) =>
        this.#database
          .prepare(`update ${table} set revoked = coalesce(revoked, ?) where id = ?`)
          .run(at, id).changes,
    )
    return changes.some((count) => count > 0)
  }

  #toPackage(row: PackageRow): GrantPackage {
    const { id, client, created, expires, mode, revoked, consumed } = row
    const grants = this.#database
      .prepare<GrantRow>(
        'select id, connection, streams, revoked from grants where package = ? order by place',
      )
      .all(id)
    // Equal rows give the same object, so that callers can cache what they derive from it by identity.
    const fingerprint = JSON.stringify([expires, revoked, consumed, grants])
    const cached = this.#cache.get(id)
    if (cached?.fingerprint === fingerprint) return cached.grantPackage
    if (this.#cache.size >= maxCachedPackages) this.#cache.clear()
    const grantPackage: GrantPackage = dropUndefined({
      id,
      client,
      createdAt: created,
      expiresAt: expires ?? undefined,
      mode,
      consumedAt: mode === 'single_use' ? (consumed ?? undefined) : undefined,
      revokedAt: revoked ?? undefined,
      grants: grants.map(toGrant),
    })
    this.#cache.set(id, { fingerprint, grantPackage })
    return grantPackage
  }
}

const toGrant = ({ id, connection, streams, revoked }: GrantRow): Grant =>
  dropUndefined({
    id,
    connection,
    streams: JSON.parse(streams) as Grant['streams'],
    revokedAt: revoked ?? undefined,
  })

const toOwner = ({ id, created, expires, revoked }: OwnerRow): OwnerToken =>
  dropUndefined({
    id,
    createdAt: created ?? undefined,
    expiresAt: expires ?? undefined,
    revokedAt: revoked ?? undefined,
  })

const digest = (token: string): string => hash('sha256', token, 'hex')
