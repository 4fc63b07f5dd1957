import { createHash } from 'node:crypto'

export interface TokenHolder {
  readonly subject: string
  readonly scopes: readonly string[]
}

/** The token of a subject in tests. */
export const tokenOf = (subject: string): string => `the-token-of-${subject}`

export const asBearer = (subject: string): Record<string, string> => ({
  authorization: `Bearer ${tokenOf(subject)}`,
})

/** The `http:` section of a configuration with one token per holder. */
export const httpWithTokens = (...holders: readonly TokenHolder[]): string =>
  `http:\n  tokens:\n${holders.map(toEntry).join('')}`

export const toTokenEntry = ({ subject, scopes }: TokenHolder) => ({
  hash: `sha256:${createHash('sha256').update(tokenOf(subject)).digest('hex')}`,
  subject,
  scopes: [...scopes],
})

const toEntry = (holder: TokenHolder): string => `    - ${JSON.stringify(toTokenEntry(holder))}\n`
