import { isDeepStrictEqual } from 'node:util'

const modern = '2026-07-28'
const legacy = '2025-11-25'
const allContestants = ['floor', 'drawbridge', 'lowlevel', 'mcpserver']
const legacyContestants = [...allContestants, 'v1']
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
export const smallLedger = 1000
export const largeLedger = 1_000_000

/**
 * Interleaved rounds of requests. The warm-up of `call` is the longest, because the SDK still gets
 * faster after 10,000 requests and the main targets compare with it.
 *
 * @typedef {import('./subjects.mjs').Row & { rounds?: number }} TimedRow
 * @type {Record<string, { title: string, warmUp: import('./load.mjs').Duration, rows: TimedRow[] }>}
 */
const timed = {
  call: {
    title: 'tools/call, one tool, 32 connections',
    warmUp: { seconds: 15, limit: 15_000 },
    rows: [
      ...rows(allContestants),
      ...rows(['governed'], { effect: 'analysis', ledgerRuns: smallLedger }),
    ],
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
    rows: rows(legacyContestants, { era: legacy }),
  },
  'legacy-list': {
    title: 'tools/list of 100 tools in 2025 sessions',
    warmUp: { seconds: 4, limit: 15_000 },
    rows: [
      ...rows(['floor', 'drawbridge'], { ...listing, era: legacy, tools: 100 }),
      ...rows(['lowlevel', 'mcpserver', 'v1'], {
        ...listing,
        era: legacy,
        tools: 100,
        connections: 4,
      }),
    ],
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
    rows: [
      ...rows(['floor', 'drawbridge', 'mcpserver'], { transport: 'stdio' }),
      ...rows(['floor', 'drawbridge', 'mcpserver', 'v1'], { transport: 'stdio', era: legacy }),
    ],
  },
}

const starting = { ...defaults, ...listing, transport: 'stdio' }

/** Processes that are started, asked once and stopped; `end` says how. */
const startUp = {
  title: 'Start-up, from spawn to the first tools/list answer over stdio',
  rounds: 15,
  rows: [
    { ...starting, contestant: 'floor' },
    { ...starting, contestant: 'mcpserver' },
    { ...starting, contestant: 'v1', era: legacy },
    { ...starting, contestant: 'drawbridge', effect: 'write' },
    { ...starting, contestant: 'drawbridge', effect: 'write', ledgerRuns: largeLedger },
    // After a call with an effect, so that the ledger is not as a proper stop leaves it.
    {
      ...starting,
      contestant: 'drawbridge',
      effect: 'write',
      ledgerRuns: largeLedger,
      end: 'SIGKILL',
    },
  ],
}

/** The command line on a project with one tool, and the least that Node itself needs. */
const commandLine = {
  title: 'Commands, from spawn to exit',
  rounds: 15,
  rows: [
    { contestant: 'node', command: '-e 0' },
    ...['--help', 'list', 'call', 'check'].map((command) => ({
      contestant: 'drawbridge',
      command,
      tools: 1,
    })),
  ],
}

/** Memory grows with calls, so all contestants are measured after the same number of calls. */
const memory = {
  title: 'Resident memory, idle and after 10,000 calls',
  calls: 10_000,
  rows: [
    ...rows(allContestants),
    ...rows(['floor', 'drawbridge', 'mcpserver'], { transport: 'stdio' }),
  ],
}

/** Together with those of the warm-up fewer sessions than one caller may have. */
const sessionMemory = {
  title: 'Memory of a 2025 session, idle and after 40 calls',
  warmUp: { sessions: 40, calls: 100 },
  sessions: 200,
  callsPerSession: 40,
  rounds: 3,
  rows: rows(['drawbridge', 'mcpserver', 'v1'], { era: legacy }),
}

const withKind = (kind, scenarios) =>
  Object.fromEntries(
    Object.entries(scenarios).map(([name, scenario]) => [name, { kind, ...scenario }]),
  )

export const scenarios = {
  ...withKind('timing', timed),
  ...withKind('start-up', { 'start-up': startUp }),
  ...withKind('commands', { commands: commandLine }),
  ...withKind('memory', { memory }),
  ...withKind('session-memory', { 'session-memory': sessionMemory }),
}

const ownContestants = ['drawbridge', 'governed']
export const isOwn = ({ contestant }) => ownContestants.includes(contestant)

/**
 * Another checkout of Drawbridge takes part wherever the present one does, in the same rounds. Not with a large
 * ledger: it may check a million rows at every start, which takes minutes.
 */
export const withBefore = (scenario) => ({
  ...scenario,
  rows: scenario.rows.flatMap((row) =>
    isOwn(row) && row.ledgerRuns !== largeLedger ? [{ ...row, checkout: 'before' }, row] : [row],
  ),
})

/**
 * For a quick run, because filling a large ledger takes minutes: its rows become those of a small one, or
 * are left out where there is one. Gates for large ledgers are then not measured.
 */
export const withSmallLedgers = (scenario) => {
  const rows = scenario.rows.map((row) =>
    row.ledgerRuns === undefined ? row : { ...row, ledgerRuns: smallLedger },
  )
  const firstOf = (row) => rows.findIndex((other) => isDeepStrictEqual(other, row))
  return { ...scenario, rows: rows.filter((row, index) => firstOf(row) === index) }
}
