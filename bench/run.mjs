import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { earlierTargets, gates, toVerdicts } from './gates.mjs'
import { measureCommands } from './measure-commands.mjs'
import { measureMemory } from './measure-memory.mjs'
import { measureSessionMemory } from './measure-session-memory.mjs'
import { measureStartUps } from './measure-start-ups.mjs'
import { measureTimings } from './measure-timings.mjs'
import { checkouts, productOf } from './paths.mjs'
import { clearFixtures } from './projects.mjs'
import { toSection, toSummary } from './report.mjs'
import { scenarios, withBefore, withSmallLedgers } from './scenarios.mjs'
import { replaceBlock } from './table.mjs'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    scenario: { type: 'string', multiple: true },
    before: { type: 'string' },
    json: { type: 'string' },
    table: { type: 'string' },
    'no-gate': { type: 'boolean', default: false },
  },
})

const rounds = options.quick ? 1 : 9
// A quick run is too short for gates; it shows that all contestants answer correctly.
const isGated = !options.quick && !options['no-gate']

const measures = {
  timing: measureTimings,
  'start-up': measureStartUps,
  commands: measureCommands,
  memory: measureMemory,
  'session-memory': measureSessionMemory,
}

const main = async () => {
  if (options.before) checkouts.set('before', path.resolve(options.before))
  checkPreconditions()
  clearFixtures()
  const machine = toMachine()
  console.log(`${machine}\n`)

  const results = {}
  const sections = []
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (options.scenario && !options.scenario.includes(name)) continue
    const sized = options.quick ? withSmallLedgers(scenario) : scenario
    const contest = options.before ? withBefore(sized) : sized
    results[name] = await measures[scenario.kind](contest, toSettings(name))
    sections.push(toSection(scenario, results[name]))
    console.log(sections.at(-1))
  }

  const report = {
    machine,
    gates: toVerdicts(gates, results),
    targets: toVerdicts(earlierTargets, results),
    results,
  }
  console.log(`### Gates\n\n${toSummary(report)}`)
  if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  if (options.table) {
    const text = [toSummary(report), ...sections].join('\n')
    writeFileSync(options.table, replaceBlock(readFileSync(options.table, 'utf8'), text))
  }
  clearFixtures()
  const isMissed = [...report.gates, ...report.targets].some(({ met }) => met === false)
  process.exit(isGated && isMissed ? 1 : 0)
}

const checkPreconditions = () => {
  const names = Object.keys(scenarios)
  const unknownName = options.scenario?.find((name) => !names.includes(name))
  if (unknownName)
    throw new Error(`Unknown scenario ${unknownName}. Available: ${names.join(', ')}.`)
  if (options.table && options.scenario)
    throw new Error('--table replaces all tables, and needs a run of all scenarios.')
  if (options.table) replaceBlock(readFileSync(options.table, 'utf8'), '')
  for (const checkout of checkouts.keys())
    if (!existsSync(productOf(checkout)))
      throw new Error(`${productOf(checkout)} is missing. Run: npm run build`)
  if (!existsSync('/proc/self/stat'))
    throw new Error('CPU time is read from /proc, which needs Linux.')
}

const toMachine = () =>
  `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0].model}), load ` +
  `${loadavg()[0].toFixed(1)} before, ${new Date().toISOString().slice(0, 10)}; ` +
  (options.quick
    ? 'quick run without warm-up: not representative'
    : `${rounds} interleaved rounds of 1 s`)

const toSettings = (name) => ({
  quick: options.quick,
  rounds,
  isMet: (entries) =>
    !isGated ||
    toVerdicts([...gates, ...earlierTargets], { [name]: entries }).every(
      ({ met }) => met !== false,
    ),
})

// Exit code 1 is reserved for missed gates.
await main().catch((error) => {
  console.error(error.message)
  process.exit(2)
})
