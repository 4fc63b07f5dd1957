import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

/** What measures, floods or repeats for minutes: `npm run soak`. */
const isSoak = process.env.SOAK !== undefined
const soaks = isSoak ? [] : ['test/**/*.soak.test.ts']

export default defineConfig({
  resolve: { alias: { 'drawbridge-mcp': fileURLToPath(new URL('src/index.ts', import.meta.url)) } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...soaks],
    // The command line is tested as users get it: built.
    globalSetup: ['test/support/build.ts'],
    testTimeout: isSoak ? 600_000 : 60_000,
    // Much of a run is waiting for processes of its own: as many as CI has cores, whatever vitest would dare.
    maxWorkers: 2,
  },
})
