import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

/** Soak tests measure, flood or repeat for minutes: `npm run soak`. */
const isSoak = process.env.SOAK !== undefined
const soaks = isSoak ? [] : ['test/**/*.soak.test.ts']

export default defineConfig({
  resolve: { alias: { 'drawbridge-mcp': fileURLToPath(new URL('src/index.ts', import.meta.url)) } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...soaks],
    // Tests of the command line run the built program.
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/setup.ts'],
    // Timeouts detect hangs only: a busy machine must not fail a test.
    testTimeout: isSoak ? 600_000 : 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    // Test files share processes and modules: importing them for each file took as long as the tests.
    pool: 'forks',
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    // The number of CI cores. vitest's default would be lower, but tests mostly wait for child processes.
    maxWorkers: 2,
  },
})
