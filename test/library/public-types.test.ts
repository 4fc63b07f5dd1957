import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { globSync } from 'tinyglobby'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import * as library from '../../src/index.ts'
import { repository } from '../support/spawn-server.ts'

/**
 * Compiles modules of a user against the declarations of the built package, in one run of the compiler:
 * a module that exports the result of every public function, and every `@example` of the source. The
 * package is a folder of its own, as after `npm install`: only then does the compiler report TS2883, a
 * type that the declarations of the user's module cannot name.
 */
const fixture = path.join(repository, 'test/fixtures/library/exports.ts')
const examples = await readExamples()
let folder: string
let errors: readonly string[]

beforeAll(async () => {
  folder = await aUserProject()
  await cp(fixture, path.join(folder, 'exports.ts'))
  for (const { file, code } of examples) await writeFile(path.join(folder, file), code)
  errors = await compile(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('a module that exports the result of every public function', () => {
  test('compiles with declaration: true', () => {
    expect(errors.filter((line) => line.startsWith('exports.ts'))).toEqual([])
  })

  test('names every value that the package exports, and every member of Drawbridge', async () => {
    const text = await readFile(fixture, 'utf8')
    const bridge = library.createDrawbridge({ sources: [] })
    onTestFinished(() => bridge.close())
    const methods = Object.getOwnPropertyNames(library.Drawbridge.prototype)
    const members = [...methods, ...Object.keys(bridge)].filter((name) => name !== 'constructor')
    const isNamed = (pattern: string) => new RegExp(pattern, 'm').test(text)

    expect(Object.keys(library).filter((name) => !isNamed(`^  ${name},$`))).toEqual([])
    expect(members.filter((name) => !isNamed(`\\bbridge\\.${name}\\b`))).toEqual([])
  })
})

describe('examples in comments', () => {
  test.each(examples)('$file compiles as it is written', ({ file, code }) => {
    expect(code).toContain("from 'drawbridge-mcp'")
    expect(errors.filter((line) => line.startsWith(file))).toEqual([])
  })

  test('every function that a user calls has one', () => {
    const functions = Object.entries(library)
      .filter(([name, value]) => typeof value === 'function' && !/^[A-Z]/.test(name))
      .map(([name]) => name)
    const methods = ['listen', 'fetch', 'stdio', 'call']
    const documented = new Set(examples.map(({ documents }) => documents))

    expect([...functions, ...methods].filter((name) => !documented.has(name))).toEqual([])
  })
})

test('nothing else fails to compile', () => {
  const files = ['exports.ts', ...examples.map(({ file }) => file)]
  expect(errors.filter((line) => !files.some((file) => line.startsWith(file)))).toEqual([])
})

interface Example {
  /** Name of the declaration below the comment. */
  readonly documents: string
  readonly file: string
  readonly code: string
}

/** Every `@example` in the source, as a file of its own. */
async function readExamples(): Promise<readonly Example[]> {
  const files = globSync('src/**/*.ts', { cwd: repository }).sort()
  const texts = await Promise.all(
    files.map((file) => readFile(path.join(repository, file), 'utf8')),
  )
  const matches = texts.flatMap((text) => [
    ...text.matchAll(
      /\* @example\n *\* ```ts\n(.*?)\n *\* ```\n *\*\/\n(?:\/\/[^\n]*\n)? *(?:export |readonly |async |const |function |class )*(\w+)/gs,
    ),
  ])
  return matches.map(([, comment = '', documents = ''], index) => ({
    documents,
    file: `example-${index + 1}-${documents}.ts`,
    code: `${comment.replaceAll(/^ *\* ?/gm, '')}\n`,
  }))
}

/** A project with the package installed. The package's own dependencies are out of the user's reach. */
async function aUserProject(): Promise<string> {
  const project = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-user-'))
  const installed = path.join(project, 'node_modules')
  const packageFolder = path.join(installed, 'drawbridge-mcp')
  await cp(path.join(repository, 'dist'), path.join(packageFolder, 'dist'), {
    recursive: true,
    filter: (file) => !/\.(js|map|tsbuildinfo)$/.test(file),
  })
  await cp(path.join(repository, 'package.json'), path.join(packageFolder, 'package.json'))
  await symlink(path.join(repository, 'node_modules'), path.join(packageFolder, 'node_modules'))
  for (const name of ['@types/node', '@preact/signals-core', 'rxjs', 'xstate', 'zustand']) {
    await mkdir(path.dirname(path.join(installed, name)), { recursive: true })
    await symlink(path.join(repository, 'node_modules', name), path.join(installed, name))
  }
  await writeFile(path.join(project, 'package.json'), '{ "type": "module" }')
  await writeFile(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  return project
}

const compilerOptions = {
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  declaration: true,
  emitDeclarationOnly: true,
  outDir: 'out',
}

/** The lines that the compiler prints, each with a path relative to the project. */
const compile = (project: string): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const tsc = path.join(repository, 'node_modules/typescript/bin/tsc')
    execFile(process.execPath, [tsc, '--pretty', 'false'], { cwd: project }, (error, stdout) => {
      if (error && stdout === '') reject(error)
      else resolve(stdout.split('\n').filter((line) => line !== ''))
    })
  })
