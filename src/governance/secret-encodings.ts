/**
 * All texts that reveal a secret: itself, its lines, and both in the encodings that servers echo them
 * in. Texts shorter than `minLength` are left out: they would match ordinary words.
 */
export function toEncodings(secret: string, minLength: number): readonly string[] {
  // Each line of a multi-line secret, such as a PEM key, is a secret too.
  const lines = new Set([secret, ...secret.split(/\r?\n/)])
  const parts = [...lines].filter((part) => part.length >= minLength)
  const texts = parts.flatMap((part) => [part, ...encodings.flatMap((encode) => encode(part))])
  return [...new Set(texts)].filter((text) => text.length >= minLength)
}

const encodings: readonly ((secret: string) => readonly string[])[] = [
  toBase64,
  toHex,
  toPercentEncoding,
  toJsonEscapes,
  toHtmlEscapes,
]

/**
 * Base64 and base64url. The encoding of a byte depends on its position modulo three, as in
 * `Basic base64(user:secret)`: the characters that the secret alone decides are the same in any text.
 */
function toBase64(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const start = Math.ceil((offset * 8) / 6)
    const end = Math.floor(((offset + bytes.length) * 8) / 6)
    const base64 = text.slice(start, end)
    return [base64, base64.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

function toHex(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex')
  return [hex, hex.toUpperCase()]
}

/** Percent-encoding (RFC 3986) of the characters that need it, of those that may have it, and of all. */
function toPercentEncoding(secret: string): readonly string[] {
  const isWellFormed = Buffer.from(secret).toString() === secret
  if (!isWellFormed) return []
  const minimal = encodeURIComponent(secret)
  const strict = minimal.replaceAll(/[!'()*]/g, (char) => `%${toHex(char)[1]}`)
  const full = Buffer.from(secret).toString('hex').toUpperCase().replaceAll(/../g, '%$&')
  const form = new URLSearchParams([['', secret]]).toString().slice(1)
  const texts = [encodeURI(secret), minimal, strict, full, form, strict.replaceAll('%20', '+')]
  return [...texts, ...texts.map((text) => text.replaceAll(/%../g, (octet) => octet.toLowerCase()))]
}

function toJsonEscapes(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = json.replaceAll(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return [json, json.replaceAll('/', '\\/'), ascii]
}

const htmlEntities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function toHtmlEscapes(secret: string): readonly string[] {
  const toEntity = (char: string) => htmlEntities[char] ?? char
  return [secret.replaceAll(/[&<>"']/g, toEntity), secret.replaceAll(/[&<>]/g, toEntity)]
}
