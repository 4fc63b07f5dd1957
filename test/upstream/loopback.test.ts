import { describe, expect, test } from 'vitest'
import { configShape } from '../../src/runtime/config/config-shape.ts'
import { isLoopbackHost, isLoopbackUrl } from '../../src/upstream/loopback.ts'

const isAllowedServer = (server: string): boolean =>
  configShape.safeParse({ sources: [{ records: { server, token: 'secret' } }] }).success

describe('only this machine counts as loopback', () => {
  // biome-ignore format: table
  test.each([
    // host to listen on          as a host   in a URL    as a records server over plain HTTP
    ['127.0.0.1',                 true,       true,       true],
    ['127.1.2.3',                 true,       true,       true],
    ['localhost',                 true,       true,       true],
    ['::1',                       true,       undefined,  false],
    ['[::1]',                     false,      true,       true],
    ['0.0.0.0',                   false,      false,      false],
    ['[::]',                      false,      false,      false],
    ['[::ffff:127.0.0.1]',        false,      false,      false],
    ['localhost.evil.com',        false,      false,      false],
    ['127.0.0.1.evil.com',        false,      false,      false],
    ['evil.com',                  false,      false,      false],
    // Other spellings of 127.0.0.1 and a user are refused where the text itself is judged.
    ['127.1',                     false,      true,       false],
    ['0x7f.0.0.1',                false,      true,       false],
    ['me@localhost',              false,      true,       false],
    ['localhost@evil.com',        false,      false,      false],
  ])('%s: as a host %s, in a URL %s, as a records server %s', (host, asHost, inUrl, asServer) => {
    expect(isLoopbackHost(host)).toBe(asHost)
    if (inUrl !== undefined) expect(isLoopbackUrl(`http://${host}:8080/path`)).toBe(inUrl)
    expect(isAllowedServer(`http://${host}:8080/path`)).toBe(asServer)
  })

  test('a records server on another machine needs HTTPS', () => {
    expect(isAllowedServer('https://evil.com/')).toBe(true)
    expect(isAllowedServer('HTTP://LOCALHOST')).toBe(true)
    expect(isAllowedServer('http://localhost?query')).toBe(false)
  })
})
