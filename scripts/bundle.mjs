// Bundles the program and the library into CommonJS files in dist/bundle, which `src/start/load-bundle.ts`
// loads with V8's code cache; see docs/decisions/0011-bundle.md. Part of `npm run build`.
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { globSync } from 'tinyglobby'

const folder = 'dist/bundle'
const threads = globSync('src/**/*-thread.ts').map((file) => [path.basename(file, '.ts'), file])

/** Functions of the library that load their source with the first call: the file of each, and its name in the bundle. */
const lazySources = {
  intentSource: ['intents', 'src/sources/intents/intent-source.ts'],
  manifestSource: ['manifest', 'src/runtime/open-manifest.ts'],
  recordSource: ['records', 'src/runtime/records/open-records.ts'],
  serviceSource: ['services', 'src/sources/services/service-source.ts'],
}

const bundle = await rolldown({
  input: {
    program: 'src/cli/program.ts',
    library: 'src/library.ts',
    ...Object.fromEntries(Object.values(lazySources)),
    'import-module': 'src/runtime/modules/import-module.ts',
    ...Object.fromEntries(threads),
  },
  platform: 'node',
  // Loaded with `require` where they are used: most starts need none of them.
  external: ['ajv', 'jiti', 'libsql', 'pino'],
})

rmSync(folder, { recursive: true, force: true })
const { output } = await bundle.write({
  dir: folder,
  format: 'cjs',
  comments: false,
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
})
await bundle.close()

// The package is `type: module`.
writeFileSync(`${folder}/package.json`, '{ "type": "commonjs" }\n')

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
