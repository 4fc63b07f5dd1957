import type { Diagnostic } from '../../capability/diagnostic.ts'
import { findExposure, isDanglingLink } from '../../storage/private-file.ts'

/** Problems of a store as a file, found without opening it. `source` is the name that users know it by. */
export function findStoreProblems(file: string, source: string): readonly Diagnostic[] {
  if (isDanglingLink(file))
    return [
      {
        code: 'store_dangling_link',
        severity: 'error',
        message: `The store ${file} is a symbolic link to a file that does not exist. Correct or remove the link.`,
        source,
        pointer: '',
      },
    ]
  const mode = findExposure(file)
  if (mode === undefined) return []
  return [
    {
      code: 'store_exposed',
      severity: 'warning',
      message: `Other users can read or change the store ${file} (mode ${mode}), which contains results and secrets. Run: chmod 600 ${file}*`,
      source,
      pointer: '',
    },
  ]
}
