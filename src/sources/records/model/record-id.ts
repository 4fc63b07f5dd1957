/** What names one record wherever it lies: `connection/stream:key`. The key is as it is. */
export interface RecordName {
  readonly connection?: string
  readonly stream: string
  readonly key: string
}

export const toRecordId = (connection: string, stream: string, key: string): string =>
  `${toEscaped(connection)}/${toEscaped(stream)}:${key}`

/** Also without a connection, for those who know there is only one. */
export function readRecordId(id: string): RecordName | undefined {
  const found = /^(?:([^/:]+)\/)?([^:]+):(.+)$/s.exec(id)
  if (!found) return undefined
  const [, connection, stream = '', key = ''] = found
  return {
    ...(connection !== undefined && { connection: fromEscaped(connection) }),
    stream: fromEscaped(stream),
    key,
  }
}

const toEscaped = (name: string): string =>
  name.replaceAll(/[%/:]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)

const fromEscaped = (name: string): string =>
  name.replaceAll(/%(25|2f|3a)/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))

/** An address to cite: the record's own where it has one, else one that names it here. */
export function toUrl(
  { connection, stream, key }: Required<RecordName>,
  data: Readonly<Record<string, unknown>>,
): string {
  for (const name of ['url', 'permalink', 'link', 'html_url'])
    if (typeof data[name] === 'string' && /^https?:\/\/[^\s<>"]+$/.test(data[name]))
      return data[name]
  return `drawbridge://records/${[connection, stream, key].map(encodeURIComponent).join('/')}`
}
