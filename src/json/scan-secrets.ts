import { isPlainObject } from './is-plain-object.ts'

type Path = readonly PropertyKey[]

export interface SecretFinding {
  readonly path: Path
  /** The field name, if the name itself looks like a secret. */
  readonly name?: string
  /** Names the kind of secret, never its value. */
  readonly message: string
}

/** Finds secrets by their form and by field names, because every client can read the projection. */
export function findSecrets(value: unknown): SecretFinding[] {
  const findings: SecretFinding[] = []
  walk(value, [], undefined, findings)
  return findings
}

/** Formats of well-known secrets. */
const secretPatterns: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ['a signed token', /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/],
  ['an API key', /\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{16,}/],
  ['an AWS key', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ['a GitHub token', /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/],
  ['a GitLab token', /\bglpat-[\w-]{16,}/],
  ['a Slack token', /\bxox[abeoprs]-[\w-]{8,}/],
  ['a Google key', /\bAIza[\w-]{30,}/],
  ['an npm token', /\bnpm_[A-Za-z0-9]{30,}/],
  ['a bearer token', /\bBearer\s{1,9}(?!token\b)[\w.~+/-]{16,}/i],
  ['a password in an address', /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]*:[^\s/@]+@/i],
  [
    'a password',
    /\b(?:password|passwd|secret|api[ _-]?key|access[ _-]?key|token)\s{0,9}[:=]\s{0,9}["']?[^\s"']{6,}/i,
  ],
]

/** Field names whose value is a secret in any format. */
const secretName = /(?:secret|token|password|passwd|api[_-]?key|private[_-]?key|access[_-]?key)$/i
const secretReference = /^(?:env|vault|kms):\/\//

/** JSON Schema keywords that hold sample values of the property. */
const sampleKeywords = new Set(['default', 'const', 'examples', 'example', 'enum'])

/** JSON Schema keywords that hold property names. */
const nameKeywords = new Set(['required', 'dependentRequired', 'dependencies'])

/** `owner` is the field the value belongs to; lists and sample keywords pass it down. */
function walk(
  value: unknown,
  path: Path,
  owner: string | undefined,
  findings: SecretFinding[],
): void {
  if (typeof value === 'string' || typeof value === 'number') {
    const kind = kindOf(value, owner)
    if (kind !== undefined) {
      const message = `${kind} is written here, where every client could read it. Store it elsewhere and reference it in requirements.secrets.`
      findings.push({ path, message })
    }
    return
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) walk(item, [...path, index], owner, findings)
    return
  }
  if (!isPlainObject(value)) return
  for (const [key, item] of Object.entries(value)) {
    // A secret used as a key is exposed too, also in the paths of everything below it.
    if (kindOf(key, undefined) !== undefined)
      findings.push({ path, name: key, message: 'The name of a field here looks like a secret.' })
    else if (!nameKeywords.has(key) || !isNameList(item))
      walk(item, [...path, key], sampleKeywords.has(key) ? owner : key, findings)
  }
}

/** A list of names, or a map of such lists. */
const isNameList = (value: unknown): boolean =>
  Array.isArray(value) || (isPlainObject(value) && Object.values(value).every(Array.isArray))

function kindOf(value: string | number, owner: string | undefined): string | undefined {
  const text = String(value)
  const kind = secretPatterns.find(([, pattern]) => pattern.test(text))?.[0]
  if (kind !== undefined) return kind.replace(/^a/, 'A')
  // A number named `…token` is usually a count (`max_token`), a number named `…password` is not.
  const hasSecretName =
    owner !== undefined &&
    secretName.test(owner) &&
    (typeof value === 'string' || !/token$/i.test(owner))
  return hasSecretName && text !== '' && !secretReference.test(text)
    ? `The value of a ${owner}`
    : undefined
}

/** Redacts error messages that may quote the manifest. */
export const redactSecretsInText = (message: string): string =>
  secretPatterns.reduce(
    (text, [, pattern]) => text.replaceAll(new RegExp(pattern, 'gi'), '[withheld]'),
    message,
  )
