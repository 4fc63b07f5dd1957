import { isWithin } from './gates.mjs'
import { isOwn } from './scenarios.mjs'

const labels = {
  node: '`node`',
  floor: 'floor',
  drawbridge: '**Drawbridge**',
  lowlevel: 'SDK v2 `Server`',
  mcpserver: 'SDK v2 `McpServer`',
  v1: 'SDK v1 `McpServer`',
  ungoverned: 'Drawbridge without governance',
  governed: '**Drawbridge**, with rules',
}

const toLabel = (row) => {
  const { contestant, checkout, effect, ledgerRuns, end } = row
  const label = checkout === 'before' ? 'Drawbridge before' : labels[contestant]
  return [
    label,
    checkout === 'before' && contestant === 'governed' && 'with rules',
    contestant === 'governed' && (effect === 'write' ? 'durable effect' : 'read'),
    ledgerRuns && `ledger of ${ledgerRuns.toLocaleString('en')}`,
    end && 'after kill -9',
  ]
    .filter(Boolean)
    .join(', ')
}

/**
 * What a row is compared with, in columns: the entry of another contestant, or of the checkout from
 * before, that differs in nothing else.
 */
const references = {
  floor: ({ row }, entries) => findPeer(entries, 'floor', row),
  v2: ({ row }, entries) => findPeer(entries, 'mcpserver', row),
  v1: ({ row }, entries) => findPeer(entries, 'v1', row),
  before: ({ row }, entries) =>
    isOwn(row)
      ? entries.find((entry) => {
          const { checkout, ...fields } = entry.row
          return checkout === 'before' && isMatch(fields, row)
        })
      : undefined,
}

const findPeer = (entries, contestant, { era, tools, transport }) =>
  entries.find(({ row }) => isMatch({ contestant, era, tools, transport }, row))

const isMatch = (fields, row) =>
  Object.entries(fields).every(([key, value]) => value === undefined || row[key] === value)

/** Columns with ratios, for the references that occur in a table. */
const toRatioColumns = (entries, names, sign, toRatio) =>
  names
    .filter((name) => entries.some((entry) => references[name](entry, entries)))
    .map((name) => ({
      title: `${sign} ${name}`,
      toCell: (entry) => {
        const reference = references[name](entry, entries)
        return toNumber(reference && toRatio(entry, reference))
      },
    }))

/** @param {import('./measure-timings.mjs').Timing[]} timings */
const toTimingTable = (timings) => {
  const bySize = [...timings].sort((a, b) => a.row.tools - b.row.tools)
  const toCapacity = (entry, reference) => reference.cpuMicros / entry.cpuMicros
  const toRate = (entry, reference) => entry.perSecond / reference.perSecond
  return toTable(bySize, [
    { title: 'contestant', toCell: ({ row }) => toLabel(row) },
    { title: 'revision', toCell: ({ row }) => row.era },
    { title: 'tools', toCell: ({ row }) => row.tools.toLocaleString('en') },
    { title: 'CPU µs/request', toCell: ({ cpuMicros }) => toNumber(cpuMicros) },
    ...toRatioColumns(timings, ['floor', 'v2', 'v1', 'before'], '×', toCapacity),
    { title: 'requests/s', toCell: ({ perSecond }) => Math.round(perSecond).toLocaleString('en') },
    ...toRatioColumns(timings, ['floor', 'v2', 'v1', 'before'], '×', toRate),
    { title: 'p50 ms', toCell: ({ p50 }) => toNumber(p50) },
    { title: 'p99 ms', toCell: ({ p99 }) => toNumber(p99) },
  ])
}

const toStartUpTable = (startUps) => {
  // All are compared with the first of each contestant, in whatever revision it speaks.
  const find = (contestant) => startUps.find(({ row }) => row.contestant === contestant)
  const fresh = ({ row }) =>
    isOwn(row)
      ? startUps.find((entry) => isOwn(entry.row) && entry.row.checkout === row.checkout)
      : undefined
  const toRatio = (entry, reference) =>
    toNumber(reference && entry.milliseconds / reference.milliseconds)
  return toTable(startUps, [
    { title: 'contestant', toCell: ({ row }) => toLabel(row) },
    { title: 'ms', toCell: ({ milliseconds }) => toNumber(milliseconds) },
    { title: 'CPU ms', toCell: ({ cpuMilliseconds }) => toNumber(cpuMilliseconds) },
    { title: 'time ÷ floor', toCell: (entry) => toRatio(entry, find('floor')) },
    { title: 'time ÷ v2', toCell: (entry) => toRatio(entry, find('mcpserver')) },
    { title: 'time ÷ fresh ledger', toCell: (entry) => toRatio(entry, fresh(entry)) },
  ])
}

const toCommandTable = (commands) => {
  const [node] = commands
  const toTime = (entry, reference) => entry.milliseconds / reference.milliseconds
  return toTable(commands, [
    { title: 'command', toCell: ({ row }) => `${toLabel(row)} \`${row.command}\`` },
    { title: 'ms', toCell: ({ milliseconds }) => toNumber(milliseconds) },
    { title: 'time ÷ `node -e 0`', toCell: (entry) => toNumber(toTime(entry, node)) },
    ...toRatioColumns(commands, ['before'], 'time ÷', toTime),
  ])
}

const toMemoryTable = (memories) =>
  toTable(memories, [
    { title: 'contestant', toCell: ({ row }) => toLabel(row) },
    { title: 'transport', toCell: ({ row }) => row.transport },
    { title: 'MB idle', toCell: ({ idle }) => toNumber(idle) },
    ...toRatioColumns(memories, ['v2'], '÷', (entry, reference) => entry.idle / reference.idle),
    { title: 'MB after the load', toCell: ({ loaded }) => toNumber(loaded) },
    ...toRatioColumns(memories, ['v2'], '÷', (entry, reference) => entry.loaded / reference.loaded),
  ])

const toSessionTable = (sessions) =>
  toTable(sessions, [
    { title: 'contestant', toCell: ({ row }) => toLabel(row) },
    { title: 'KB idle', toCell: ({ idle }) => toNumber(idle) },
    ...toRatioColumns(sessions, ['v2'], '÷', (entry, reference) => entry.idle / reference.idle),
    { title: 'KB after the calls', toCell: ({ loaded }) => toNumber(loaded) },
    ...toRatioColumns(sessions, ['v2'], '÷', (entry, reference) => entry.loaded / reference.loaded),
  ])

const tables = {
  timing: toTimingTable,
  'start-up': toStartUpTable,
  commands: toCommandTable,
  memory: toMemoryTable,
  'session-memory': toSessionTable,
}

/** A section of the report about one scenario. */
export const toSection = ({ kind, title }, entries) => `### ${title}\n\n${tables[kind](entries)}\n`

/** @param {import('./gates.mjs').Verdict[]} verdicts */
export const toVerdictTable = (verdicts) =>
  toTable(verdicts, [
    { title: 'measure', toCell: ({ title }) => title },
    {
      title: 'gate',
      toCell: ({ bound, gate, unit }) => `${bound === 'at least' ? '≥' : '≤'} ${gate} ${unit}`,
    },
    ...(verdicts.some(({ stretch }) => stretch !== undefined)
      ? [{ title: 'stretch', toCell: ({ stretch = '–' }) => String(stretch) }]
      : []),
    { title: 'before', toCell: ({ before }) => toPreciseNumber(before) },
    { title: 'now', toCell: ({ now }) => toPreciseNumber(now) },
    { title: 'met', toCell: toMet },
  ])

const toMet = (verdict) => {
  const { met, now, stretch } = verdict
  if (met === undefined) return 'not measured'
  if (!met) return '**no**'
  return stretch !== undefined && isWithin(verdict, stretch, now) ? 'yes, stretch' : 'yes'
}

/** The report without the scenarios: what the documentation shows first. */
export const toSummary = ({ machine, gates, targets }) =>
  [
    `${machine}\n`,
    gates.length > 0 && `${toVerdictTable(gates)}\n`,
    targets.length > 0 && `Targets of earlier versions:\n\n${toVerdictTable(targets)}\n`,
  ]
    .filter(Boolean)
    .join('\n')

const toTable = (entries, columns) =>
  [
    columns.map(({ title }) => title),
    columns.map((_, index) => (index === 0 ? '---' : '---:')),
    ...entries.map((entry) => columns.map(({ toCell }) => toCell(entry))),
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

/** Two or three significant digits: the measurements are not more precise. */
const toNumber = (value) => {
  if (value === undefined) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toPrecision(2)
}

/** Three digits, because a value beside its gate must not look equal to it. */
export const toPreciseNumber = (value) =>
  value === undefined ? '–' : value >= 100 ? toNumber(value) : value.toPrecision(3)
