import type { Scope } from '../model/scope.ts'
import { type CursorBinding, openCursor, sealCursor } from './cursor.ts'

/**
 * The key of a record as its reader sees it. Where the primary key includes fields outside the grant,
 * it is encrypted and bound to the grant: it reveals no value, always is the same under one grant, and
 * cannot be joined with the ids of another grant.
 */
export const toServedKey = (scope: Scope, key: string): string =>
  scope.idKey === undefined ? key : sealCursor(scope.idKey, toBinding(scope), [key])

/** The stored key. `undefined` for anything that was not served under this grant, such as a guess. */
export function fromServedKey(scope: Scope, servedKey: string): string | undefined {
  if (scope.idKey === undefined) return servedKey
  const [key] = openCursor(scope.idKey, toBinding(scope), servedKey) ?? []
  return typeof key === 'string' ? key : undefined
}

const toBinding = ({ grant, source }: Scope): CursorBinding => ({
  kind: 'record',
  grant,
  query: { source: source.n },
})
