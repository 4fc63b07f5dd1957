import type { Diagnostic } from '../../../capability/diagnostic.ts'
import type { DiagnosticCode } from '../diagnostic-codes.ts'

/** A manifest whose text cannot be read: the message names the file. */
export const toUnreadable = (
  { message }: Error,
  { source, file }: { readonly source: string; readonly file: string },
): Diagnostic => ({
  code: 'manifest_unreadable' satisfies DiagnosticCode,
  severity: 'error',
  message,
  source,
  pointer: '',
  at: `${file}:1:1`,
})
