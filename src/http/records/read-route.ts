import type { JsonObject } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import { cannotRead } from '../../sources/records/failures.ts'
import type { Scope } from '../../sources/records/model/scope.ts'
import { defaultLimit, maxRecords, type Warning } from '../../sources/records/query/record-page.ts'
import { ambiguousConnection } from '../../sources/records/reading/find-scope.ts'
import type { Reader } from '../../sources/records/reading/reader.ts'
import type { QueryParameters } from './records-parameters.ts'

/** A `GET` route of the read contract. */
export interface ReadRoute {
  readonly path: RegExp
  /** The equivalent tool: its policy, rate limits and audit apply to this route. */
  readonly tool: 'schema' | 'query_records' | 'aggregate' | 'search' | 'fetch'
  /** Supported query parameters, besides `connection_id`. */
  readonly parameters: readonly string[]
  /** The allowed values of enumerated parameters. */
  readonly allowedValues?: Readonly<Record<string, readonly string[]>>
  read(
    reader: Reader,
    parameters: QueryParameters,
    /** The decoded groups of `path`. */
    names: readonly string[],
  ): Promise<JsonObject | Failed> | JsonObject | Failed
}

/** The page size; text that is not a positive integer counts as absent. */
export function toLimit(text: string | undefined): number {
  const limit = Number(text ?? defaultLimit)
  return Number.isInteger(limit) && limit > 0 ? Math.min(limit, maxRecords) : defaultLimit
}

export const toClampWarnings = (limit: string | undefined): readonly Warning[] =>
  Number(limit) > maxRecords
    ? [
        {
          code: 'limit_clamped',
          param: 'limit',
          message: `limit was reduced to ${maxRecords}.`,
          detail: { requested_limit: Number(limit), max_limit: maxRecords },
        },
      ]
    : []

export function needsConnection(scopes: readonly Scope[], reason: string): Failed {
  const { failure } = ambiguousConnection(scopes)
  return cannotRead('invalid_argument', `${reason}: choose one with connection_id.`, {
    details: failure.details ?? {},
  })
}

export const pick = <T extends string>(
  allowed: readonly T[],
  value: string | undefined,
): T | undefined => allowed.find((word) => word === value)
