import { appendFile, writeFile } from 'node:fs/promises'
import type { TypeMismatch } from './type-mismatches.ts'

/** Counts of lines and records. The keys are those of `drawbridge records import --json`. */
export interface ImportResult {
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly same: number
  readonly rejected: number
  /** The file that the rejected lines were written to. */
  readonly aside?: string
  /** Lines that an earlier import of the same file has imported. */
  readonly skipped: number
  /** Lines of an export that belong to another stream or connection. */
  readonly others: number
  /** Values that do not have the declared type: they are kept, but cannot be filtered or counted. */
  readonly misfits?: readonly TypeMismatch[]
}

export const emptyTotals = {
  added: 0,
  changed: 0,
  removed: 0,
  same: 0,
  rejected: 0,
  skipped: 0,
  others: 0,
}

/** Collects rejected lines in a file beside the imported one. */
export class RejectedLines {
  readonly file: string
  #write: typeof appendFile

  constructor(importedFile: string, options: { readonly keepsFormer: boolean }) {
    this.file = `${importedFile}.rejected`
    this.#write = options.keepsFormer ? appendFile : writeFile
  }

  async add(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    await this.#write(this.file, lines.map((line) => `${line}\n`).join(''))
    this.#write = appendFile
  }
}
