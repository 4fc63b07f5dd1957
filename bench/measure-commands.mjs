import { productOf } from './paths.mjs'
import { runProcess } from './processes.mjs'
import { createProject } from './projects.mjs'
import { lowerQuartile } from './statistics.mjs'

/** Arguments of each command, and a text that its output must contain. */
const verbs = {
  '--help': { toArguments: () => ['--help'], expected: 'USAGE' },
  list: { toArguments: (project) => ['list', project], expected: 'echo_0' },
  call: {
    toArguments: (project) => [
      'call',
      project,
      'echo_0',
      '{"text":"All contestants answer this."}',
    ],
    expected: 'All contestants answer this.',
  },
  check: { toArguments: (project) => ['check', project], expected: '' },
}

/** @returns {Promise<{ row: { contestant: string, command: string }, milliseconds: number }[]>} */
export const measureCommands = async ({ rows, rounds }, { quick }) => {
  const runs = await Promise.all(rows.map(toRun))
  // The first run fills the disk cache and creates the ledger: it is checked, but not counted.
  for (let round = 0; round <= (quick ? 1 : rounds); round++)
    for (const { command, expected, times } of runs) {
      const { milliseconds, stdout } = await runProcess(command)
      if (!stdout.includes(expected))
        throw new Error(`${command.join(' ')} printed no "${expected}":\n${stdout.slice(0, 400)}`)
      if (round > 0) times.push(milliseconds)
    }
  return runs.map(({ row, times }) => ({ row, milliseconds: lowerQuartile(times) }))
}

const toRun = async (row) => {
  if (row.contestant === 'node') return { row, command: ['-e', '0'], expected: '', times: [] }
  const { toArguments, expected } = verbs[row.command]
  const command = [productOf(row.checkout), ...toArguments(await createProject(row))]
  return { row, command, expected, times: [] }
}
