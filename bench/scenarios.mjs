const modern = '2026-07-28'
const legacy = '2025-11-25'
const allContestants = ['floor', 'drawbridge', 'lowlevel', 'mcpserver']
const defaults = { transport: 'http', era: modern, method: 'tools/call', tools: 1, connections: 32 }

const rows = (contestants, options) =>
  contestants.map((contestant) => ({ ...defaults, ...options, contestant }))
const bySize = (sizes, contestants, options) =>
  sizes.flatMap((tools) => rows(contestants, { ...options, tools }))

// The SDK creates every tool for every request, which takes 20 ms at 1,000 tools and 200 ms at
// 10,000. Few connections shorten the wait for the last answers; three rounds suffice for a ratio
// in the hundreds.
const slowOptions = { connections: 4, rounds: 3 }
const slowestOptions = { connections: 1, rounds: 3 }
const listing = { method: 'tools/list' }
// Runs, keys, callers, approvals and budget accounts in the ledger before the scenario.
const smallLedger = 1000
const largeLedger = 1_000_000

/**
 * Scenarios with interleaved rounds. The warm-up of `call` is the longest, because the SDK still
 * gets faster after 10,000 requests and the main targets compare with it.
 *
 * @typedef {import('./subjects.mjs').Row & { rounds?: number }} TimedRow
 * @type {Record<string, { title: string, warmUp: import('./load.mjs').Duration, rows: TimedRow[] }>}
 */
export const timedScenarios = {
  call: {
    title: 'tools/call, one tool, 32 connections',
    warmUp: { seconds: 15, limit: 15_000 },
    rows: rows(allContestants),
  },
  tools: {
    title: 'tools/call by number of tools',
    warmUp: { seconds: 4, limit: 15_000 },
    rows: [
      ...bySize([1, 100, 1000, 10_000], ['floor', 'drawbridge']),
      ...bySize([1], ['mcpserver']),
      ...bySize([100, 1000], ['mcpserver'], slowOptions),
      ...bySize([10_000], ['mcpserver'], slowestOptions),
    ],
  },
  list: {
    title: 'tools/list by number of tools',
    warmUp: { seconds: 3, limit: 15_000 },
    rows: [
      ...bySize([1], allContestants, listing),
      ...bySize([100, 1000], ['floor', 'drawbridge'], listing),
      ...bySize([100, 1000], ['lowlevel', 'mcpserver'], { ...listing, ...slowOptions }),
      ...bySize([10_000], ['floor', 'drawbridge'], { ...listing, connections: 4 }),
    ],
  },
  'legacy-session': {
    title: 'tools/call in 2025 sessions, 32 connections',
    warmUp: { seconds: 6, limit: 15_000 },
    rows: rows(allContestants, { era: legacy }),
  },
  governance: {
    title: 'Cost of governance: a call without rules, with rules, and with a durable effect',
    warmUp: { seconds: 6, limit: 15_000 },
    rows: [
      ...rows(['floor', 'ungoverned']),
      ...rows(['governed'], { effect: 'analysis', ledgerRuns: smallLedger }),
      ...rows(['governed'], { effect: 'analysis', ledgerRuns: largeLedger }),
      ...rows(['governed'], { effect: 'write', ledgerRuns: smallLedger }),
      ...rows(['governed'], { effect: 'write', ledgerRuns: largeLedger }),
    ],
  },
  stdio: {
    title: 'tools/call over stdio, 32 outstanding',
    warmUp: { seconds: 4, limit: 15_000 },
    rows: [modern, legacy].flatMap((era) =>
      rows(['floor', 'drawbridge', 'mcpserver'], { transport: 'stdio', era }),
    ),
  },
}

export const startUps = {
  title: 'Start-up, from spawn to the first tools/list answer over stdio',
  rounds: 15,
  contestants: ['floor', 'drawbridge', 'mcpserver'],
}

/** Memory grows with calls, so all contestants are measured after the same number of calls. */
export const memory = {
  title: 'Resident memory, idle and after',
  calls: 10_000,
  rows: [
    ...rows(allContestants),
    ...rows(['floor', 'drawbridge', 'mcpserver'], { transport: 'stdio' }),
  ],
}

const ours = { contestant: 'drawbridge' }
const sdk = { contestant: 'mcpserver' }
const governed = { contestant: 'governed' }
const read = { effect: 'analysis' }
const write = { effect: 'write' }

/** Capacity (requests per second of CPU time) of `of`, divided by that of `against`. */
// biome-ignore format: table
export const targets = [
  { scenario: 'call',           atLeast: 10,  title: 'a governed call against the bare McpServer',                     of: ours,                                               against: sdk },
  { scenario: 'call',           atLeast: 0.6, title: 'a governed call against the floor',                              of: ours,                                               against: { contestant: 'floor' } },
  { scenario: 'tools',          atLeast: 0.9, title: 'a governed call at 10,000 tools against one at 1',               of: { ...ours, tools: 10_000 },                         against: { ...ours, tools: 1 } },
  { scenario: 'list',           atLeast: 300, title: 'tools/list of 1,000 tools against the bare McpServer',           of: { ...ours, tools: 1000 },                           against: { ...sdk, tools: 1000 } },
  { scenario: 'legacy-session', atLeast: 1,   title: 'a call in a 2025 session against the bare McpServer',            of: ours,                                               against: sdk },
  { scenario: 'governance',     atLeast: 0.9, title: 'a read with rules against one without governance',               of: { ...governed, ...read, ledgerRuns: smallLedger },  against: { contestant: 'ungoverned' } },
  { scenario: 'governance',     atLeast: 0.9, title: 'a read with a ledger of 1,000,000 runs against 1,000',           of: { ...governed, ...read, ledgerRuns: largeLedger },  against: { ...governed, ...read, ledgerRuns: smallLedger } },
  { scenario: 'governance',     atLeast: 0.9, title: 'a durable effect with a ledger of 1,000,000 runs against 1,000', of: { ...governed, ...write, ledgerRuns: largeLedger }, against: { ...governed, ...write, ledgerRuns: smallLedger } },
  { scenario: 'stdio',          atLeast: 1,   title: 'a 2026 call over stdio against the bare McpServer',              of: { ...ours, era: modern },                           against: { ...sdk, era: modern } },
  { scenario: 'stdio',          atLeast: 1,   title: 'a 2025 call over stdio against the bare McpServer',              of: { ...ours, era: legacy },                           against: { ...sdk, era: legacy } },
]
