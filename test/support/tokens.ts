import { createHash } from 'node:crypto'

export interface TokenHolder {
  readonly subject: string
  readonly scopes: readonly string[]
}

/** The token of somebody in a test. */
export const tokenOf = (subject: string): string => `the-token-of-${subject}`

export const asBearer = (subject: string): Record<string, string> => ({
  authorization: `Bearer ${tokenOf(subject)}`,
})

/** The `http:` part of a configuration in which these have a token each. */
export const httpWithTokens = (...holders: readonly TokenHolder[]): string =>
  `http:\n  tokens:\n${holders.map(toEntry).join('')}`

export const toTokenEntry = ({ subject, scopes }: TokenHolder) => ({
  hash: `sha256:${createHash('sha256').update(tokenOf(subject)).digest('hex')}`,
  subject,
  scopes: [...scopes],
})

const toEntry = (holder: TokenHolder): string => `    - ${JSON.stringify(toTokenEntry(holder))}\n`
