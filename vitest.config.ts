import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { alias: { 'drawbridge-mcp': fileURLToPath(new URL('src/index.ts', import.meta.url)) } },
  test: {
    include: ['test/**/*.test.ts'],
    // The command line is tested as users get it: built.
    globalSetup: ['test/support/build.ts'],
    testTimeout: 20_000,
  },
})
