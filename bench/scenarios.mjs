const modern = '2026-07-28'
const legacy = '2025-11-25'
const all = ['floor', 'drawbridge', 'lowlevel', 'mcpserver']
const defaults = { transport: 'http', era: modern, method: 'tools/call', tools: 1, connections: 32 }

const rows = (names, options) => names.map((who) => ({ ...defaults, ...options, who }))
const bySize = (sizes, names, options) =>
  sizes.flatMap((tools) => rows(names, { ...options, tools }))

// The SDK builds every tool for every request: 20 ms at 1,000, 200 ms at 10,000. Few connections
// keep the wait for the last answers short, few rounds suffice for a ratio in the hundreds.
const slow = { connections: 4, rounds: 3 }
const slowest = { connections: 1, rounds: 3 }
const list = { method: 'tools/list' }
// How many runs, keys, callers, approvals and accounts the ledger holds before.
const few = 1000
const many = 1_000_000

/**
 * What is timed, in interleaved rounds; the warm-up of `call` is the longest, because the SDK
 * still gets faster after 10,000 requests and the main targets are set against it.
 *
 * @typedef {import('./subjects.mjs').Row & { rounds?: number }} TimedRow
 * @type {Record<string, { title: string, warmUp: import('./load.mjs').Dose, rows: TimedRow[] }>}
 */
export const timed = {
  call: {
    title: 'tools/call, one tool, 32 connections',
    warmUp: { seconds: 15, limit: 15_000 },
    rows: rows(all),
  },
  tools: {
    title: 'tools/call by number of tools',
    warmUp: { seconds: 4, limit: 15_000 },
    rows: [
      ...bySize([1, 100, 1000, 10_000], ['floor', 'drawbridge']),
      ...bySize([1], ['mcpserver']),
      ...bySize([100, 1000], ['mcpserver'], slow),
      ...bySize([10_000], ['mcpserver'], slowest),
    ],
  },
  list: {
    title: 'tools/list by number of tools',
    warmUp: { seconds: 3, limit: 15_000 },
    rows: [
      ...bySize([1], all, list),
      ...bySize([100, 1000], ['floor', 'drawbridge'], list),
      ...bySize([100, 1000], ['lowlevel', 'mcpserver'], { ...list, ...slow }),
      ...bySize([10_000], ['floor', 'drawbridge'], { ...list, connections: 4 }),
    ],
  },
  'legacy-session': {
    title: 'tools/call in 2025 sessions, 32 connections',
    warmUp: { seconds: 6, limit: 15_000 },
    rows: rows(all, { era: legacy }),
  },
  governance: {
    title: 'What governance costs: a call with no rules, under rules, and with a durable effect',
    warmUp: { seconds: 6, limit: 15_000 },
    rows: [
      ...rows(['floor', 'plain']),
      ...rows(['ruled'], { effect: 'analysis', remembered: few }),
      ...rows(['ruled'], { effect: 'analysis', remembered: many }),
      ...rows(['ruled'], { effect: 'write', remembered: few }),
      ...rows(['ruled'], { effect: 'write', remembered: many }),
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
  names: ['floor', 'drawbridge', 'mcpserver'],
}

/** Memory grows with calls, so every contestant is weighed after the same number of them. */
export const memory = {
  title: 'Resident memory, idle and after',
  calls: 10_000,
  rows: [...rows(all), ...rows(['floor', 'drawbridge', 'mcpserver'], { transport: 'stdio' })],
}

const ours = { who: 'drawbridge' }
const sdk = { who: 'mcpserver' }
const ruled = { who: 'ruled' }
const read = { effect: 'analysis' }
const write = { effect: 'write' }

/** Capacity (requests per second of CPU time) of `of`, divided by that of `against`. */
// biome-ignore format: table
export const targets = [
  { scenario: 'call',           atLeast: 10,  says: 'a governed call against the bare McpServer',             of: ours,                       against: sdk },
  { scenario: 'call',           atLeast: 0.6, says: 'a governed call against the floor',                      of: ours,                       against: { who: 'floor' } },
  { scenario: 'tools',          atLeast: 0.9, says: 'a governed call at 10,000 tools against one at 1',       of: { ...ours, tools: 10_000 }, against: { ...ours, tools: 1 } },
  { scenario: 'list',           atLeast: 300, says: 'tools/list of 1,000 tools against the bare McpServer',   of: { ...ours, tools: 1000 },   against: { ...sdk, tools: 1000 } },
  { scenario: 'legacy-session', atLeast: 1,   says: 'a call in a 2025 session against the bare McpServer',    of: ours,                       against: sdk },
  { scenario: 'governance',     atLeast: 0.9, says: 'a read under rules against one through no rules at all', of: { ...ruled, ...read, remembered: few },   against: { who: 'plain' } },
  { scenario: 'governance',     atLeast: 0.9, says: 'a read over a ledger of 1,000,000 against 1,000',        of: { ...ruled, ...read, remembered: many },  against: { ...ruled, ...read, remembered: few } },
  { scenario: 'governance',     atLeast: 0.9, says: 'an effect over a ledger of 1,000,000 against 1,000',     of: { ...ruled, ...write, remembered: many }, against: { ...ruled, ...write, remembered: few } },
  { scenario: 'stdio',          atLeast: 1,   says: 'a 2026 call over stdio against the bare McpServer',      of: { ...ours, era: modern },   against: { ...sdk, era: modern } },
  { scenario: 'stdio',          atLeast: 1,   says: 'a 2025 call over stdio against the bare McpServer',      of: { ...ours, era: legacy },   against: { ...sdk, era: legacy } },
]
