import { existsSync, lstatSync, type Stats, statSync } from 'node:fs'

/** The mode of a file that other users can read or write; `undefined` if only its owner can. */
export function findExposure(file: string): string | undefined {
  const mode = statFile(file)?.mode ?? 0
  return (mode & othersReadOrWrite) === 0 ? undefined : (mode & 0o777).toString(8)
}

const othersReadOrWrite = 0o066

/** True for a symbolic link to a file that does not exist. */
export const isDanglingLink = (file: string): boolean =>
  lstatSync(file, { throwIfNoEntry: false }) !== undefined && !existsSync(file)

/** True if a file belongs to this user, or to the owner of the store: root may work on it, too. */
export function hasTrustedOwner(file: string, store: string): boolean {
  const owner = statFile(file)?.uid
  return owner === undefined || owner === process.geteuid?.() || owner === statFile(store)?.uid
}

/** Windows has neither modes nor numeric owners. */
const statFile = (file: string): Stats | undefined =>
  process.platform === 'win32' ? undefined : statSync(file, { throwIfNoEntry: false })
