import { isUtf8 } from 'node:buffer'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import type { Data } from '../../../sources/records/model/record-data.ts'
import type { Row } from '../../../sources/records/record-store.ts'
import { type Bytes, toBytes } from '../../sqlite/bytes.ts'

type Body = Pick<Row, 'body' | 'isUnreadable'>

/** Parses a stored body; one that is not UTF-8 or not a JSON object is marked as unreadable. */
export function readBody(stored: Bytes | null): Body & { readonly body: Data } {
  const bytes = toBytes(stored ?? new Uint8Array(0))
  const data = isUtf8(bytes) ? parseJson(bytes.toString()) : undefined
  return isPlainObject(data) ? { body: data } : unreadable
}

/** The body of a damaged record. */
const unreadable = { body: {}, isUnreadable: true } as const
