import { targets } from './scenarios.mjs'

const labels = {
  floor: 'floor',
  drawbridge: '**Drawbridge**',
  lowlevel: 'SDK `Server`',
  mcpserver: 'SDK `McpServer`',
  ungoverned: 'Drawbridge without governance',
  governed: '**Drawbridge**, with rules',
}

/**
 * @typedef {{ row: import('./subjects.mjs').Row, cpuMicros: number,
 *   cpuMicrosOfRounds: number[], perSecond: number, p50: number, p99: number }} Timing
 * @param {import('./subjects.mjs').Row} row
 * @param {import('./subjects.mjs').Round[]} rounds
 * @returns {Timing}
 */
export const toTiming = (row, rounds) => ({
  row,
  cpuMicros: lowerQuartile(rounds.map(toCpuMicros)),
  cpuMicrosOfRounds: rounds.map(toCpuMicros),
  perSecond: 1 / lowerQuartile(rounds.map((round) => round.seconds / round.done)),
  p50: lowerQuartile(rounds.map((round) => quantile(round.latencies, 0.5))),
  p99: lowerQuartile(rounds.map((round) => quantile(round.latencies, 0.99))),
})

const toCpuMicros = ({ cpuSeconds, done }) => (cpuSeconds / done) * 1e6

/** The 25th percentile: less sensitive to other load than the median, and to luck than the minimum. */
export const lowerQuartile = (values) => quantile(values, 0.25)

const quantile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * share)]

/** @param {Timing[]} timings */
export const toTimingTable = (timings) => {
  const find = (contestant, { era, tools }) =>
    timings.find(
      ({ row }) => row.contestant === contestant && row.era === era && row.tools === tools,
    )
  const bySize = [...timings].sort((a, b) => a.row.tools - b.row.tools)
  return toTable(
    // biome-ignore format: table
    ['contestant', 'revision', 'tools', 'CPU µs/request', '× floor', '× McpServer',
      'requests/s', '× floor', '× McpServer', 'p50 ms', 'p99 ms'],
    bySize.map((timing) => {
      const floor = find('floor', timing.row)
      const sdk = find('mcpserver', timing.row)
      return [
        `${labels[timing.row.contestant]}${toDetail(timing.row)}`,
        timing.row.era,
        timing.row.tools.toLocaleString('en'),
        toNumber(timing.cpuMicros),
        toNumber(floor && floor.cpuMicros / timing.cpuMicros),
        toNumber(sdk && sdk.cpuMicros / timing.cpuMicros),
        Math.round(timing.perSecond).toLocaleString('en'),
        toNumber(floor && timing.perSecond / floor.perSecond),
        toNumber(sdk && timing.perSecond / sdk.perSecond),
        toNumber(timing.p50),
        toNumber(timing.p99),
      ]
    }),
  )
}

const toDetail = ({ effect, ledgerRuns }) =>
  ledgerRuns === undefined
    ? ''
    : `, ${effect === 'write' ? 'durable effect' : 'read'}, ledger of ${ledgerRuns.toLocaleString('en')}`

export const toStartUpTable = (startUps) => {
  const { floor, mcpserver } = Object.fromEntries(
    startUps.map((startUp) => [startUp.contestant, startUp.milliseconds]),
  )
  return toTable(
    ['contestant', 'ms', 'time ÷ floor', 'time ÷ McpServer'],
    startUps.map(({ contestant, milliseconds }) => [
      labels[contestant],
      toNumber(milliseconds),
      toNumber(milliseconds / floor),
      toNumber(milliseconds / mcpserver),
    ]),
  )
}

export const toMemoryTable = (memories) => {
  const sdk = ({ transport }) =>
    memories.find(({ row }) => row.contestant === 'mcpserver' && row.transport === transport)
  return toTable(
    ['contestant', 'transport', 'MB idle', 'MB after the load', 'memory ÷ McpServer'],
    memories.map(({ row, idle, loaded }) => [
      labels[row.contestant],
      row.transport,
      toNumber(idle),
      toNumber(loaded),
      toNumber(loaded / sdk(row).loaded),
    ]),
  )
}

/** @param {Record<string, Timing[]>} timings by scenario; other scenarios' targets are left out */
export const toVerdicts = (timings) =>
  targets
    .filter((target) => timings[target.scenario])
    .map((target) => {
      const cpuOf = (fields) =>
        timings[target.scenario].find(({ row }) =>
          Object.entries(fields).every(([key, value]) => row[key] === value),
        ).cpuMicros
      const measured = cpuOf(target.against) / cpuOf(target.of)
      return { ...target, measured, met: measured >= target.atLeast }
    })

export const toVerdictTable = (verdicts) =>
  toTable(
    ['target, by CPU time', 'at least', 'measured', 'met'],
    verdicts.map(({ title, atLeast, measured, met }) => [
      title,
      `${atLeast} ×`,
      `${toNumber(measured)} ×`,
      met ? 'yes' : '**no**',
    ]),
  )

const toTable = (head, rows) =>
  [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

/** Two or three significant digits: the measurements are not more precise. */
const toNumber = (value) => {
  if (value === undefined) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toPrecision(2)
}
