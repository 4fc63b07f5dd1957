import { type FailureTable, failureSet } from '../../capability/failure.ts'

/** Failures that a definition reports itself; the model reads the message. */
export const definitionFailures = {
  tool_error: 'model',
} as const satisfies FailureTable

export const toolFailed = failureSet(definitionFailures)
