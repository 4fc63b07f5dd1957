import { dropUndefined } from '../../../json/drop-undefined.ts'

/** The parts of a record id, `connection/stream:key`. The key is not escaped. */
export interface RecordName {
  readonly connection?: string
  readonly stream: string
  readonly key: string
}

export const toRecordId = (connection: string, stream: string, key: string): string =>
  `${toEscaped(connection)}/${toEscaped(stream)}:${key}`

/** Accepts an id without a connection; it resolves when there is only one. */
export function readRecordId(id: string): RecordName | undefined {
  const match = /^(?:([^/:]+)\/)?([^:]+):(.+)$/s.exec(id)
  if (!match) return undefined
  const [, connection, stream = '', key = ''] = match
  return dropUndefined({
    connection: connection === undefined ? undefined : fromEscaped(connection),
    stream: fromEscaped(stream),
    key,
  })
}

const toEscaped = (name: string): string =>
  name.replaceAll(/[%/:]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)

const fromEscaped = (name: string): string =>
  name.replaceAll(/%(25|2f|3a)/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))

/** URL to cite: the record's own if it has one, else a `drawbridge:` URL. */
export function toUrl(
  { connection, stream, key }: Required<RecordName>,
  data: Readonly<Record<string, unknown>>,
): string {
  for (const name of ['url', 'permalink', 'link', 'html_url'])
    if (typeof data[name] === 'string' && /^https?:\/\/[^\s<>"]+$/.test(data[name]))
      return data[name]
  return `drawbridge://records/${[connection, stream, key].map(encodeURIComponent).join('/')}`
}
