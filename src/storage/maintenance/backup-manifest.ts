import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { SetupError } from '../../capability/setup-error.ts'
import { parseJson } from '../../json/parse-json.ts'

const shape = z.strictObject({
  kind: z.enum(['ledger', 'records']),
  /** Start of the backup, in milliseconds since the epoch: everything acknowledged before is in it. */
  at: z.number().int(),
  bytes: z.number().int(),
  sha256: z.string(),
})

/** A file beside a backup: says when it was made, and detects damage of its copy. */
export type BackupManifest = z.output<typeof shape>

export const toManifestFile = (backup: string): string => `${backup}.manifest`

export function readManifest(backup: string): BackupManifest {
  const file = toManifestFile(backup)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new SetupError(
      `${file} cannot be read. A backup consists of all files that "drawbridge store backup" printed.`,
    )
  }
  const { data } = shape.safeParse(parseJson(text))
  if (!data) throw new SetupError(`${file} is not the manifest of a backup.`)
  return data
}
