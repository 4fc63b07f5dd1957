// node gate.mjs RUN FOLDER SCENARIOS: judges what one run of the suite left in a folder. Stricter
// than the suite, which forgives warnings and what it could not test.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const [run, folder, expected] = process.argv.slice(2)

// An extension that a server may leave out.
const isRequired = ({ scenario }) => !scenario.startsWith('tasks-')
const isMiss = ({ status }) => ['FAILURE', 'WARNING', 'SKIPPED'].includes(status)

const checks = readdirSync(folder).flatMap((name) => {
  const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
  const found = JSON.parse(readFileSync(path.join(folder, name, 'checks.json'), 'utf8'))
  return found.map((check) => ({ ...check, scenario }))
})
const required = checks.filter(isRequired)
const scenarios = new Set(required.map(({ scenario }) => scenario))
const passed = required.filter(({ status }) => status === 'SUCCESS')
const misses = required.filter(isMiss)

for (const { scenario, status, id, errorMessage } of misses)
  console.error(`${run}: ${status} ${scenario} ${id}: ${errorMessage ?? 'no reason given'}`)
// Without this, a run that broke off early would look like a good one.
const isWhole = scenarios.size === Number(expected)
const count = isWhole ? `${scenarios.size}` : `${scenarios.size} of ${expected}`
const outcome = misses.length > 0 ? `, ${misses.length} missed` : ''
console.log(`${run}: ${count} scenarios, ${passed.length} checks passed${outcome}`)
process.exitCode = isWhole && misses.length === 0 ? 0 : 1
