import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { drawbridge } from '../support/run-cli.ts'

const toHash = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`

describe('drawbridge token', () => {
  test('prints only the token to standard output, and its digest to standard error', async () => {
    const { code, stdout, stderr } = await drawbridge(['token', '--subject', 'ann'])
    const token = stdout.trim()

    expect(code).toBe(0)
    expect(token).toMatch(/^[\w-]{43,}$/)
    expect(stderr).toContain(toHash(token))
    expect(stderr).not.toContain(token)
  })

  test('--json prints token, digest, subject and scopes', async () => {
    const { stdout } = await drawbridge([
      'token',
      '--subject',
      'ann',
      '--scopes',
      'a:read,b:*',
      '--json',
    ])
    const { token, ...entry } = JSON.parse(stdout)

    expect(entry).toEqual({ hash: toHash(token), subject: 'ann', scopes: ['a:read', 'b:*'] })
  })

  test('ignores spaces and a trailing comma in --scopes', async () => {
    const { stdout } = await drawbridge([
      'token',
      '--subject',
      'ann',
      '--scopes',
      ' a:read, b:* ,',
      '--json',
    ])

    expect(JSON.parse(stdout).scopes).toEqual(['a:read', 'b:*'])
  })

  test('creates a different token every time', async () => {
    const mint = async () => (await drawbridge(['token', '--subject', 'ann'])).stdout

    expect(await mint()).not.toBe(await mint())
  })
})
