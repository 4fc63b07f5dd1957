import type { SchemeSecret } from '../../src/runtime/open-openapi.ts'
import type { AcceptedCredentials } from '../support/api/check-credentials.ts'

const only = (expected: string) => ({ accepts: (value: string) => value === expected })

/** What the API of the fixtures accepts: a credential of its own for each scheme. */
export const accepted: AcceptedCredentials = {
  headerKey: only('header-key-1'),
  queryKey: only('query key&2'),
  cookieKey: only('cookie;key=3'),
  basic: only('ada:pass:word 4'),
  bearer: only('bearer-5'),
  token: only('token-number-6'),
  client: { accepts: (value) => value.startsWith('access-') },
  code: only('code-number-7'),
  openId: only('open-id-number-8'),
  key: only('key-number-9'),
}

/** The secrets for the schemes of a fixture, bound to the host of its API. */
export function toSecrets(
  host: string,
  document = 'everything.yaml',
): Record<string, SchemeSecret> {
  const basic = { host, user: 'ada', password: 'pass:word 4' }
  if (document === 'everything-2.0.yaml') return { basic, key: { host, value: 'key-number-9' } }
  if (document !== 'everything.yaml') return {}
  return {
    basic,
    headerKey: { host, value: 'header-key-1' },
    queryKey: { host, value: 'query key&2' },
    cookieKey: { host, value: 'cookie;key=3' },
    bearer: { host, value: 'bearer-5' },
    token: { host, value: 'token-number-6' },
    client: { host, value: 'access-0' },
    code: { host, value: 'code-number-7' },
    openId: { host, value: 'open-id-number-8' },
  }
}
