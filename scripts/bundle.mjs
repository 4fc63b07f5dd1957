// Bundles the program and the library into CommonJS files in dist/bundle, which `src/start/load-bundle.ts`
// loads with V8's code cache; see docs/decisions/0011-bundle.md. Part of `npm run build`.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { globSync } from 'tinyglobby'

const folder = 'dist/bundle'
const threads = globSync('src/**/*-thread.ts').map((file) => [path.basename(file, '.ts'), file])

/** Functions of the library that load their source with the first call: the file of each, and its name in the bundle. */
const lazySources = {
  intentSource: ['intents', 'src/sources/intents/intent-source.ts'],
  manifestSource: ['manifest', 'src/runtime/open-manifest.ts'],
  openApiSource: ['openapi', 'src/runtime/open-openapi.ts'],
  recordSource: ['records', 'src/runtime/records/open-records.ts'],
  serviceSource: ['services', 'src/sources/services/service-source.ts'],
}

const bundle = await rolldown({
  input: {
    program: 'src/cli/program.ts',
    library: 'src/library.ts',
    ...Object.fromEntries(Object.values(lazySources)),
    ...Object.fromEntries(threads),
  },
  platform: 'node',
  // Loaded with `require` where they are used: most starts need none of them.
  external: ['ajv', 'jiti', 'libsql', 'pino'],
})

/**
 * Two files hold what almost every start needs, because each file costs time: `program` for `--help`, and `start`
 * for a server. Everything else is split where it is imported lazily.
 */
const groupRoots = {
  program: ['src/cli/program.ts'],
  start: [
    'src/cli/serve.ts',
    'src/cli/list.ts',
    'src/cli/check.ts',
    'src/cli/call.ts',
    'src/library.ts',
  ],
}
let groups

function toGroup(id, graph) {
  groups ??= Object.entries(groupRoots).map(([name, roots]) => [name, closureOf(roots, graph)])
  return groups.find(([, ids]) => ids.has(id))?.[0] ?? null
}

/** The modules that the roots import statically, directly or indirectly. */
function closureOf(roots, graph) {
  const ids = new Set(roots.map((file) => path.resolve(file)))
  for (const id of ids)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) ids.add(imported)
  return ids
}

/** V8 reads ASCII twice as fast: other strings are UTF-16 in memory. */
function escapeNonAscii(code) {
  // In these places an escape means something else.
  const [unescapable] = /String\.raw`[^`]*\P{ASCII}|(?<!\\)(?:\\\\)*\\\P{ASCII}/u.exec(code) ?? []
  if (unescapable !== undefined) throw new Error(`Write this in ASCII: ${unescapable}`)
  return code.replaceAll(/\P{ASCII}/gu, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

const { output } = await bundle.generate({
  format: 'cjs',
  comments: false,
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  codeSplitting: {
    groups: [
      { name: 'import-module', test: /import-module\.ts$/, priority: 1 },
      { name: toGroup, debugName: 'start' },
    ],
  },
})
await bundle.close()
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const { fileName, code } of output)
  writeFileSync(`${folder}/${fileName}`, escapeNonAscii(code), 'latin1')

// The package is `type: module`.
writeFileSync(`${folder}/package.json`, '{ "type": "commonjs" }\n')

/** Most licences ask to be distributed with the code. */
const packages = new Set(
  output.flatMap(({ modules }) =>
    Object.keys(modules).flatMap(
      (id) => id.match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/)?.[0] ?? [],
    ),
  ),
)
const toNotice = (directory) => {
  const { name, version, license } = JSON.parse(readFileSync(`${directory}/package.json`, 'utf8'))
  const file = readdirSync(directory).find((one) => /^licen[cs]e/i.test(one))
  const text = file === undefined ? '' : readFileSync(`${directory}/${file}`, 'utf8').trim()
  return `${name} ${version} (${license})\n\n${text}\n`
}
const notices = [...packages].map(toNotice).sort()
writeFileSync(`${folder}/LICENSES.txt`, notices.join(`\n${'-'.repeat(80)}\n\n`))

const { exports } = output.find(({ name, isEntry }) => isEntry && name === 'library')
const toLazyExport = ([name, [chunk]]) =>
  `export const ${name} = (...options) => loadBundle('${chunk}').${name}(...options)`
writeFileSync(
  'dist/index.js',
  [
    `import { loadBundle } from './start/load-bundle.js'\n`,
    `export const {\n${exports.map((name) => `  ${name},\n`).join('')}} = loadBundle('library')`,
    ...Object.entries(lazySources).map(toLazyExport),
    '',
  ].join('\n'),
)
