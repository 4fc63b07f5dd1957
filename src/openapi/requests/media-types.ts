/** The type and subtype in lower case, without parameters. */
export const toMediaType = (text: string | undefined): string =>
  (text ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

export function isJsonMedia(text: string): boolean {
  const type = toMediaType(text)
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json')
}

export const isTextMedia = (text: string): boolean => {
  const type = toMediaType(text)
  return type.startsWith('text/') || textTypes.has(type) || type.endsWith('+xml')
}

const textTypes = new Set([
  'application/xml',
  'application/yaml',
  'application/x-yaml',
  'application/graphql',
  'application/sql',
  'application/x-ndjson',
  'application/jsonl',
  'application/javascript',
])
