import { contestantFile, productOf } from './paths.mjs'
import { createProject } from './projects.mjs'

/**
 * @typedef {'floor' | 'v1' | 'mcpserver' | 'lowlevel' | 'drawbridge' | 'ungoverned' | 'governed'} ContestantName
 * @typedef {{ tools: number, effect?: 'analysis' | 'write', ledgerRuns?: number,
 *   checkout?: import('./paths.mjs').Checkout }} ServerOptions
 */

/** The arguments of `node` for each contestant and transport. */
export const commands = {
  floor: {
    http: ({ tools }, port) => [contestantFile('floor-http'), tools, port],
    stdio: ({ tools }) => [contestantFile('floor-stdio'), tools],
  },
  /** The first generation of the SDK, which knows only 2025 sessions. */
  v1: {
    http: ({ tools }, port) => [contestantFile('sdk-v1-http'), tools, port],
    stdio: ({ tools }) => [contestantFile('sdk-v1-stdio'), tools],
  },
  mcpserver: {
    http: ({ tools }, port) => [contestantFile('sdk-http'), 'mcpserver', tools, port],
    stdio: ({ tools }) => [contestantFile('sdk-stdio'), tools],
  },
  lowlevel: {
    http: ({ tools }, port) => [contestantFile('sdk-http'), 'lowlevel', tools, port],
  },
  drawbridge: {
    http: (server, port) => serve(server, '--port', port),
    stdio: (server) => serve(server, '--stdio'),
  },
  /** Drawbridge's HTTP edge with a minimal pipeline. */
  ungoverned: {
    http: ({ tools }, port) => [contestantFile('ungoverned-http'), tools, port],
  },
  /** A tool with every kind of rule, over a ledger that already holds `ledgerRuns` runs. */
  governed: {
    http: (server, port) => serve({ ...server, hasRules: true }, '--port', port),
  },
}

const serve = async (server, ...flags) => [
  productOf(server.checkout),
  'serve',
  await createProject(server),
  ...flags,
]
