import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { repository } from '../support/spawn-server.ts'

test('the npm package contains no build information, source maps or paths of this machine', async () => {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['pack', '--dry-run', '--json', '--ignore-scripts'],
    { cwd: repository, maxBuffer: 10_000_000 },
  )
  const [pack] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  const files = pack.files.map((file) => file.path)
  const texts = await Promise.all(
    files.map((file) => readFile(path.join(repository, file), 'utf8')),
  )

  expect(files).toEqual(expect.arrayContaining(['dist/cli/main.js', 'SECURITY.md', 'LICENSE']))
  expect(files.filter((file) => /tsbuildinfo|\.map$|^(src|test)\/|\.db/.test(file))).toEqual([])
  expect(files.filter((_, index) => texts[index]?.includes(repository))).toEqual([])
  expect(files.filter((_, index) => texts[index]?.includes('//# sourceMappingURL'))).toEqual([])
})
