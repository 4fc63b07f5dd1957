import type { JsonObject } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import { cannotRead } from '../../sources/records/failures.ts'
import type { Scope } from '../../sources/records/grants/scope.ts'
import { defaultLimit, maxRecords, type Warning } from '../../sources/records/query/record-page.ts'
import { ambiguous } from '../../sources/records/reading/find-scope.ts'
import type { Reader } from '../../sources/records/reading/reader.ts'
import type { Parameters } from './records-parameters.ts'

export interface ReadRoute {
  readonly path: RegExp
  /** The tool it amounts to: what is enforced on that one is enforced here. */
  readonly tool: 'schema' | 'query_records' | 'aggregate' | 'search' | 'fetch'
  /** Everything it understands; anything else is an error. */
  readonly parameters: readonly string[]
  /** Of parameters that are one of some words, which. */
  readonly words?: Readonly<Record<string, readonly string[]>>
  read(
    reader: Reader,
    parameters: Parameters,
    names: readonly string[],
  ): Promise<JsonObject | Failed> | JsonObject | Failed
}

/** What is no number, or none that means anything, is as if it were not there. */
export function toLimit(text: string | undefined): number {
  const asked = Number(text ?? defaultLimit)
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, maxRecords) : defaultLimit
}

export const toClamped = (limit: string | undefined): readonly Warning[] =>
  Number(limit) > maxRecords
    ? [
        {
          code: 'limit_clamped',
          param: 'limit',
          message: `limit was set to ${maxRecords}.`,
          detail: { requested_limit: Number(limit), max_limit: maxRecords },
        },
      ]
    : []

export function needsConnection(scopes: readonly Scope[], why: string): Failed {
  const { failure } = ambiguous(scopes)
  return cannotRead('invalid_argument', `${why}: say which one, with connection_id.`, {
    details: failure.details ?? {},
  })
}

export const pick = <T extends string>(
  known: readonly T[],
  word: string | undefined,
): T | undefined => known.find((one) => one === word)
