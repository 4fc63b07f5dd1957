import { isPlainObject, type JsonObject } from '../../../capability/json.ts'

type Path = readonly PropertyKey[]

export interface SecretFound {
  readonly path: Path
  /** Where the name of a field is one, that name. */
  readonly name?: string
  /** Says where and of what kind; never the value. */
  readonly message: string
}

/** Looks at values, not only at names: whatever is projected can be read by every client. */
export function findSecrets(value: JsonObject): SecretFound[] {
  const found: SecretFound[] = []
  walk(value, [], undefined, found)
  return found
}

/** What secrets look like, wherever they stand. */
const looks: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ['a signed token', /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/],
  ['an API key', /\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{16,}/],
  ['an AWS key', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ['a GitHub token', /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/],
  ['a GitLab token', /\bglpat-[\w-]{16,}/],
  ['a Slack token', /\bxox[abeoprs]-[\w-]{8,}/],
  ['a Google key', /\bAIza[\w-]{30,}/],
  ['an npm token', /\bnpm_[A-Za-z0-9]{30,}/],
  ['a bearer token', /\bBearer\s+(?!token\b)[\w.~+/-]{16,}/i],
  ['a password in an address', /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/i],
  [
    'a password',
    /\b(?:password|passwd|secret|api[ _-]?key|access[ _-]?key|token)\s*[:=]\s*["']?[^\s"']{6,}/i,
  ],
]

/** Names under which text is a secret, whatever it looks like. */
const secretName = /(?:secret|token|password|passwd|api[_-]?key|private[_-]?key|access[_-]?key)$/i
const elsewhere = /^(?:env|vault|kms):\/\//

/** Keywords of a schema whose values are examples of what a property holds. */
const sampling = new Set(['default', 'const', 'examples', 'example', 'enum'])

/** Keywords of a schema whose values are names of properties. */
const naming = new Set(['required', 'dependentRequired', 'dependencies'])

/** `owner` is the name whose value this is, through lists and the keywords that sample it. */
function walk(value: unknown, path: Path, owner: string | undefined, found: SecretFound[]): void {
  if (typeof value === 'string' || typeof value === 'number') {
    const kind = kindOf(value, owner)
    if (kind !== undefined) {
      const message = `${kind} stands here, where every client could read it. Keep it outside and name it in requirements.secrets.`
      found.push({ path, message })
    }
    return
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) walk(item, [...path, index], owner, found)
    return
  }
  if (!isPlainObject(value)) return
  for (const [key, item] of Object.entries(value)) {
    // A secret as a name would be just as readable, and so would the way to what stands under it.
    if (kindOf(key, undefined) !== undefined)
      found.push({ path, name: key, message: 'The name of a field here looks like a secret.' })
    else if (!naming.has(key) || !isNaming(item))
      walk(item, [...path, key], sampling.has(key) ? owner : key, found)
  }
}

/** Lists of names, or lists of names by name. */
const isNaming = (value: unknown): boolean =>
  Array.isArray(value) || (isPlainObject(value) && Object.values(value).every(Array.isArray))

function kindOf(value: string | number, owner: string | undefined): string | undefined {
  const text = String(value)
  const known = looks.find(([, pattern]) => pattern.test(text))?.[0]
  if (known !== undefined) return known.replace(/^a/, 'A')
  // Tokens are also counted; passwords are not.
  const named =
    owner !== undefined &&
    secretName.test(owner) &&
    (typeof value === 'string' || !/token$/i.test(owner))
  return named && text !== '' && !elsewhere.test(text) ? `The value of a ${owner}` : undefined
}

/** Words about a text that could not be read may quote it. */
export const redactSecrets = (words: string): string =>
  looks.reduce(
    (left, [, pattern]) => left.replaceAll(new RegExp(pattern, 'gi'), '[withheld]'),
    words,
  )
