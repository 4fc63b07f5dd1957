import { z } from 'zod'

/** How this side proves to the server who it is. */
const accessShape = z
  .strictObject({
    token: z.string().min(1),
    user: z.string().min(1),
    password: z.string().min(1),
    /** The seed of an nkey. */
    nkey: z.string().min(1),
    /** The text of a `.creds` file. */
    credentials: z.string().min(1),
  })
  .partial()

/** Where a NATS server is: its path, if it has one, is what all subjects begin with. */
export const natsFields = {
  url: z
    .url({ protocol: /^(nats|tls)$/ })
    .regex(/^[^@]*$/, 'a password belongs under access, as env://NAME')
    .regex(
      /^\w+:\/\/[^/]+(\/([\w-]+(\.[\w-]+)*)?)?$/,
      'the path must be the beginning of a subject',
    ),
  access: accessShape.optional(),
}

const toPath = (url: string): string => new URL(url).pathname.replace(/^\//, '')

export type Access = z.output<typeof accessShape>

export interface Address {
  /** Host and port. */
  readonly server: string
  readonly prefix: string
  /** Whether everything must be encrypted on the way; always, when it leaves this machine. */
  readonly secure: boolean
  readonly access: Access
}

export interface AddressInput {
  readonly url: string
  readonly access?: Access | undefined
}

export function toAddress({ url, access = {} }: AddressInput): Address {
  const { protocol, hostname, port } = new URL(url)
  return {
    server: `${hostname}:${port === '' ? 4222 : port}`,
    prefix: toPath(url) || 'intents',
    secure: protocol === 'tls:' || !isThisMachine(url),
    access,
  }
}

export const isThisMachine = (url: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
