import { z } from 'zod'
import { isLoopbackUrl } from '../../../../upstream/loopback.ts'

/** Credentials for the NATS server. */
const accessShape = z
  .strictObject({
    token: z.string().min(1),
    user: z.string().min(1),
    password: z.string().min(1),
    /** The seed of an nkey. */
    nkey: z.string().min(1),
    /** Content of a `.creds` file. */
    credentials: z.string().min(1),
  })
  .partial()

/** URL of a NATS server; the path, if any, is the prefix of all subjects. */
export const natsFields = {
  url: z
    .url({ protocol: /^(nats|tls)$/ })
    .regex(/^[^@]*$/, 'must not contain credentials: put them under "access", as env://NAME')
    .regex(
      /^\w+:\/\/[^/]+(\/([\w-]+(\.[\w-]+)*)?)?$/,
      'the path must be a valid subject prefix, such as /acme or /acme.shop',
    ),
  access: accessShape.optional(),
}

const toPath = (url: string): string => new URL(url).pathname.replace(/^\//, '')

export type NatsCredentials = z.output<typeof accessShape>

export interface NatsAddress {
  /** Host and port. */
  readonly server: string
  readonly prefix: string
  /** TLS is required; always, unless the server is on this machine. */
  readonly secure: boolean
  readonly access: NatsCredentials
}

export interface NatsAddressInput {
  readonly url: string
  readonly access?: NatsCredentials | undefined
}

export function toAddress({ url, access = {} }: NatsAddressInput): NatsAddress {
  const { protocol, hostname, port } = new URL(url)
  return {
    server: `${hostname}:${port === '' ? 4222 : port}`,
    prefix: toPath(url) || 'intents',
    secure: protocol === 'tls:' || !isLoopbackUrl(url),
    access,
  }
}
