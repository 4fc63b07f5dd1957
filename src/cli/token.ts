import { createHash, randomBytes } from 'node:crypto'
import { defineCommand } from 'citty'
import { isReservedSubject } from '../capability/caller.ts'
import { descriptions } from './descriptions.ts'
import { jsonFlag } from './terminal/flags.ts'
import { print, printJson, printMessage } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

export const token = defineCommand({
  meta: { name: 'token', description: descriptions.token },
  args: {
    subject: {
      type: 'string',
      required: true,
      description: 'id of the caller that gets the token',
    },
    scopes: {
      type: 'string',
      description: 'scopes of the caller, separated by commas (default: none)',
    },
    json: jsonFlag,
  },
  run({ args }) {
    if (isReservedSubject(args.subject))
      throw new UsageError(
        `The subject "${args.subject}" is reserved for a built-in caller. Choose another.`,
      )
    const bearer = randomBytes(32).toString('base64url')
    const hash = `sha256:${createHash('sha256').update(bearer).digest('hex')}`
    const scopes = (args.scopes ?? '').split(/[\s,]+/).filter((scope) => scope !== '')
    if (args.json) {
      printJson({ token: bearer, hash, subject: args.subject, scopes })
      return 0
    }
    printMessage('The token, shown only once:')
    print(bearer)
    printMessage('Add to drawbridge.yaml, under http:')
    printMessage(
      `  tokens:\n    - { hash: "${hash}", subject: ${JSON.stringify(args.subject)}, scopes: ${JSON.stringify(scopes)} }`,
    )
    return 0
  },
})
