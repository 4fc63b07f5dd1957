import { text } from '../../../capability/content.ts'
import type { Json } from '../../../capability/json.ts'
import type { Failed } from '../../../capability/outcome.ts'

/** Adds the code and details to the text of a failure: some clients show the model only the text. */
export function toFailedAnswer(failed: Failed): Failed {
  const { code, message, details = {} } = failed.failure
  if (failed.failure.fixedBy !== 'model') return failed
  const error: Record<string, Json | undefined> = { code, message, ...details }
  return { ...failed, content: [text(`Error: ${message}\n${JSON.stringify({ error })}`)] }
}
