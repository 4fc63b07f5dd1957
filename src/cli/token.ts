import { createHash, randomBytes } from 'node:crypto'
import { defineCommand } from 'citty'
import { jsonFlag } from './terminal/flags.ts'
import { print, printJson, say } from './terminal/print.ts'

export const token = defineCommand({
  meta: {
    name: 'token',
    description: 'Mints a bearer token and the line for http.tokens; only its digest is kept.',
  },
  args: {
    subject: { type: 'string', required: true, description: 'who holds it' },
    scopes: { type: 'string', description: 'what it may do, separated by commas', default: '' },
    json: jsonFlag,
  },
  run({ args }) {
    const minted = randomBytes(32).toString('base64url')
    const hash = `sha256:${createHash('sha256').update(minted).digest('hex')}`
    const scopes = args.scopes.split(/[\s,]+/).filter((scope) => scope !== '')
    if (args.json) {
      printJson({ token: minted, hash, subject: args.subject, scopes })
      return 0
    }
    say('The token, shown once:')
    print(minted)
    say('For drawbridge.yaml, under http:')
    say(
      `  tokens:\n    - { hash: "${hash}", subject: ${JSON.stringify(args.subject)}, scopes: ${JSON.stringify(scopes)} }`,
    )
    return 0
  },
})
