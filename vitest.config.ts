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
    setupFiles: ['test/support/setup.ts'],
    // Deadlines are for what never happens: a busy machine is no failure.
    testTimeout: isSoak ? 600_000 : 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    // Files share a process and its modules: importing them anew for each file cost as much as the tests.
    pool: 'forks',
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    // Much of a run is waiting for processes of its own: as many as CI has cores, whatever vitest would dare.
    maxWorkers: 2,
  },
})
