import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { root } from './paths.mjs'

const output = path.join(root, 'bench/.compiled')
const stamp = path.join(output, '.stamp')

/**
 * Imports a module of `src/` that the package does not export, compiled file by file: `dist` may be a
 * bundle, and a loader that transpiles would change what is measured.
 *
 * @param {string} module its path in `src/`, without extension
 */
export const importSource = (module) => {
  if (isStale()) compile()
  return import(path.join(output, `${module}.js`))
}

const isStale = () => {
  if (!existsSync(stamp)) return true
  const compiledAt = statSync(stamp).mtimeMs
  return readdirSync(path.join(root, 'src'), { recursive: true }).some(
    (file) => statSync(path.join(root, 'src', file)).mtimeMs > compiledAt,
  )
}

const compile = () => {
  const startedAt = new Date()
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json')
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      path.join(compiler, '../bin/tsc'),
      ...['--project', path.join(root, 'tsconfig.build.json'), '--outDir', output],
      ...['--noEmit', 'false', '--emitDeclarationOnly', 'false', '--declaration', 'false'],
      ...['--tsBuildInfoFile', path.join(output, '.tsbuildinfo')],
    ],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`The sources cannot be compiled:\n${stdout}`)
  writeFileSync(stamp, '')
  utimesSync(stamp, startedAt, startedAt)
}
