import { isOwn, largeLedger, smallLedger } from './scenarios.mjs'

const floor = { contestant: 'floor' }
const v1 = { contestant: 'v1' }
const v2 = { contestant: 'mcpserver' }
const ours = { contestant: 'drawbridge' }
const read = { contestant: 'governed', effect: 'analysis' }
const write = { contestant: 'governed', effect: 'write' }
const small = { ledgerRuns: smallLedger }
const large = { ledgerRuns: largeLedger }
const modern = { era: '2026-07-28' }
const legacy = { era: '2025-11-25' }
const fresh = { ...ours, ledgerRuns: undefined }
const node = { contestant: 'node' }
const verb = (command) => ({ ...ours, command })

/** What is compared; a capacity is the number of requests per second of CPU time. */
const values = {
  capacity: (entry) => 1 / entry.cpuMicros,
  cpu: (entry) => entry.cpuMicros,
  rate: (entry) => entry.perSecond,
  time: (entry) => entry.milliseconds,
  idle: (entry) => entry.idle,
  loaded: (entry) => entry.loaded,
}

/**
 * The value of `of`, divided by that of `against` if there is one.
 *
 * @typedef {{ scenario: string, title: string, unit: string, by: keyof values, of: object,
 *   against?: object, stretch?: number } & ({ atLeast: number } | { atMost: number })} Gate
 * @type {Gate[]}
 */
// biome-ignore format: table
export const gates = [
  { title: 'modern tools/call, all governance on',       unit: '× floor',         atLeast: 0.7,  stretch: 0.9,  scenario: 'call',           by: 'capacity', of: { ...read, ...small },               against: floor },
  { title: 'tools/call in a 2025 session',               unit: '× SDK v1',        atLeast: 2,    stretch: 3.5,  scenario: 'legacy-session', by: 'capacity', of: ours,                                against: v1 },
  { title: 'tools/call in a 2025 session',               unit: '× floor',         atLeast: 0.5,  stretch: 0.9,  scenario: 'legacy-session', by: 'capacity', of: ours,                                against: floor },
  { title: 'tools/list, 100 tools, 2025 session',        unit: '× SDK v1',        atLeast: 10,   stretch: 40,   scenario: 'legacy-list',    by: 'capacity', of: ours,                                against: v1 },
  { title: 'stdio tools/call, 2026',                     unit: '× SDK v2',        atLeast: 4.5,  stretch: 6,    scenario: 'stdio',          by: 'capacity', of: { ...ours, ...modern },              against: { ...v2, ...modern } },
  { title: 'stdio tools/call, 2026',                     unit: '× floor',         atLeast: 0.45, stretch: 0.65, scenario: 'stdio',          by: 'capacity', of: { ...ours, ...modern },              against: { ...floor, ...modern } },
  { title: 'stdio tools/call, 2025',                     unit: '× SDK v2',        atLeast: 3,    stretch: 4,    scenario: 'stdio',          by: 'capacity', of: { ...ours, ...legacy },              against: { ...v2, ...legacy } },
  { title: 'stdio tools/call, 2025',                     unit: '× SDK v1',        atLeast: 1.5,  stretch: 2,    scenario: 'stdio',          by: 'capacity', of: { ...ours, ...legacy },              against: v1 },
  { title: 'durable effect, 32 clients, calls/s',        unit: '× before',        atLeast: 1.3,  stretch: 3,    scenario: 'governance',     by: 'rate',     of: { ...write, ...small },              against: { ...write, ...small, checkout: 'before' } },
  { title: 'durable effect, 32 clients, CPU',            unit: '× a plain call',  atMost: 3.5,   stretch: 2,    scenario: 'governance',     by: 'cpu',      of: { ...write, ...small },              against: { ...read, ...small } },
  { title: 'start to the first list over stdio',         unit: '× SDK v2',        atMost: 1,     stretch: 0.65, scenario: 'start-up',       by: 'time',     of: fresh,                               against: v2 },
  { title: 'start with 1,000,000 runs in the ledger',    unit: '× fresh ledger',  atMost: 1.15,                 scenario: 'start-up',       by: 'time',     of: { ...ours, ...large, end: undefined }, against: fresh },
  { title: 'the same after kill -9',                     unit: '× fresh ledger',  atMost: 1.15,                 scenario: 'start-up',       by: 'time',     of: { ...ours, ...large, end: 'SIGKILL' }, against: fresh },
  { title: 'drawbridge --help',                          unit: '× node -e 0',     atMost: 3.2,   stretch: 2,    scenario: 'commands',       by: 'time',     of: verb('--help'),                      against: node },
  { title: 'drawbridge list',                            unit: '× node -e 0',     atMost: 4.5,   stretch: 3.5,  scenario: 'commands',       by: 'time',     of: verb('list'),                        against: node },
  { title: 'drawbridge call',                            unit: '× node -e 0',     atMost: 4.5,   stretch: 3.5,  scenario: 'commands',       by: 'time',     of: verb('call'),                        against: node },
  { title: 'drawbridge check',                           unit: '× node -e 0',     atMost: 4.5,   stretch: 3.5,  scenario: 'commands',       by: 'time',     of: verb('check'),                       against: node },
  { title: 'memory of a 2025 session after 40 calls',    unit: 'KB',              atMost: 10,    stretch: 5,    scenario: 'session-memory', by: 'loaded',   of: ours },
  { title: 'memory of an idle 2025 session',             unit: '× SDK v2',        atMost: 1.2,   stretch: 1,    scenario: 'session-memory', by: 'idle',     of: ours,                                against: v2 },
  { title: 'memory of an idle process, HTTP',            unit: '× SDK v2',        atMost: 1.2,   stretch: 1,    scenario: 'memory',         by: 'idle',     of: { ...ours, transport: 'http' },      against: { ...v2, transport: 'http' } },
  { title: 'memory of an idle process, stdio',           unit: '× SDK v2',        atMost: 1.2,   stretch: 1,    scenario: 'memory',         by: 'idle',     of: { ...ours, transport: 'stdio' },     against: { ...v2, transport: 'stdio' } },
]

/** Targets of earlier versions, which a change must not lose. */
// biome-ignore format: table
export const earlierTargets = [
  { title: 'modern tools/call',                            unit: '× SDK v2',                 atLeast: 10,  scenario: 'call',       by: 'capacity', of: ours,                       against: v2 },
  { title: 'modern tools/call at 10,000 tools',            unit: '× at 1 tool',              atLeast: 0.9, scenario: 'tools',      by: 'capacity', of: { ...ours, tools: 10_000 }, against: { ...ours, tools: 1 } },
  { title: 'modern tools/list of 1,000 tools',             unit: '× SDK v2',                 atLeast: 300, scenario: 'list',       by: 'capacity', of: { ...ours, tools: 1000 },   against: { ...v2, tools: 1000 } },
  { title: 'a read with rules',                            unit: '× without governance',     atLeast: 0.9, scenario: 'governance', by: 'capacity', of: { ...read, ...small },      against: { contestant: 'ungoverned' } },
  { title: 'a read with 1,000,000 runs in the ledger',     unit: '× with 1,000',             atLeast: 0.9, scenario: 'governance', by: 'capacity', of: { ...read, ...large },      against: { ...read, ...small } },
  { title: 'a durable effect with 1,000,000 runs',         unit: '× with 1,000',             atLeast: 0.9, scenario: 'governance', by: 'capacity', of: { ...write, ...large },     against: { ...write, ...small } },
]

/**
 * @typedef {{ title: string, unit: string, bound: 'at least' | 'at most', gate: number,
 *   stretch?: number, before?: number, now?: number, met?: boolean }} Verdict `met` and `now` are
 *   absent for what needs a checkout from before
 * @param {Gate[]} list
 * @param {Record<string, object[]>} results entries by scenario; gates of other scenarios are left out
 * @returns {Verdict[]}
 */
export const toVerdicts = (list, results) =>
  list
    .filter(({ scenario }) => results[scenario])
    .map((gate) => {
      const { title, unit, stretch } = gate
      const limit =
        gate.atLeast === undefined
          ? { bound: 'at most', gate: gate.atMost }
          : { bound: 'at least', gate: gate.atLeast }
      const before = measure(gate, results, 'before')
      const now = measure(gate, results)
      const met = now === undefined ? undefined : isWithin(limit, limit.gate, now)
      return { title, unit, ...limit, stretch, before, now, met }
    })

/** @param {Pick<Verdict, 'bound'>} verdict */
export const isWithin = ({ bound }, limit, value) =>
  bound === 'at least' ? value >= limit : value <= limit

const measure = ({ scenario, by, of, against }, results, checkout) => {
  const find = (fields) => {
    const wanted = { checkout: isOwn(fields) ? checkout : undefined, ...fields }
    const entry = results[scenario].find(({ row }) =>
      Object.entries(wanted).every(([key, value]) => row[key] === value),
    )
    return entry && values[by](entry)
  }
  const [value, reference] = [find(of), against ? find(against) : 1]
  return value === undefined || reference === undefined ? undefined : value / reference
}
