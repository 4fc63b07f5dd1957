// node gate.mjs RUN FOLDER SCENARIOS: evaluates the results of one run of the suite. Stricter than
// the suite, which accepts warnings and skipped checks.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const [run, folder, expected] = process.argv.slice(2)

// Tasks are an optional extension.
const isRequired = ({ scenario }) => !scenario.startsWith('tasks-')
const isFailure = ({ status }) => ['FAILURE', 'WARNING', 'SKIPPED'].includes(status)

const checks = readdirSync(folder).flatMap((name) => {
  const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
  const results = JSON.parse(readFileSync(path.join(folder, name, 'checks.json'), 'utf8'))
  return results.map((check) => ({ ...check, scenario }))
})
const required = checks.filter(isRequired)
const scenarios = new Set(required.map(({ scenario }) => scenario))
const passedChecks = required.filter(({ status }) => status === 'SUCCESS')
const failures = required.filter(isFailure)

for (const { scenario, status, id, errorMessage } of failures)
  console.error(`${run}: ${status} ${scenario} ${id}: ${errorMessage ?? 'no message'}`)
// An aborted run has too few scenarios, and would pass otherwise.
const isComplete = scenarios.size === Number(expected)
const count = isComplete ? `${scenarios.size}` : `${scenarios.size} of ${expected}`
const summary = failures.length > 0 ? `, ${failures.length} failed` : ''
console.log(`${run}: ${count} scenarios, ${passedChecks.length} checks passed${summary}`)
process.exitCode = isComplete && failures.length === 0 ? 0 : 1
