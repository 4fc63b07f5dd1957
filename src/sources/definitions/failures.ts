import { type FailureTable, failureSet } from '../../capability/failure.ts'

export const definitionFailures = {
  tool_error: 'model',
} as const satisfies FailureTable

export const toolFailed = failureSet(definitionFailures)
