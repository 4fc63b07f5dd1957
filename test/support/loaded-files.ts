import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The files of JavaScript that a process loads, by V8's coverage: without a hook in the loader. */
export async function filesLoadedBy(
  run: (env: Readonly<Record<string, string>>) => Promise<unknown>,
): Promise<readonly string[]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'coverage-'))
  try {
    await run({ NODE_V8_COVERAGE: folder })
    const reports = await Promise.all(
      (await readdir(folder)).map((file) => readFile(path.join(folder, file), 'utf8')),
    )
    return reports
      .flatMap((report) => (JSON.parse(report) as { result: { url: string }[] }).result)
      .map(({ url }) => (url.startsWith('file:') ? fileURLToPath(url) : url))
      .filter((file) => path.isAbsolute(file))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
