import { readFileSync, writeFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import type { Finished } from '../support/cli-host.ts'
import { countingTools } from '../support/counting-tools.ts'
import { eventually } from '../support/eventually.ts'

const config = `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  duplicates: { window: 0 }
  rules:
    - { match: guarded, permissions: [orders:write, audit:read] }
    - { match: costly, cost: { amount: 5, unit: EUR }, budgets: [{ limit: 12, unit: EUR, window: month }] }
`
const tools = countingTools(
  { name: 'note' },
  { name: 'look', category: 'read' },
  { name: 'pay', more: 'requiresConfirmation: true,' },
  { name: 'charge', more: 'idempotencyKey: true,' },
  { name: 'guarded' },
  { name: 'costly' },
  { name: 'hang', body: 'await new Promise(() => {})' },
)
const files = { 'drawbridge.yaml': config, 'tools/all.ts': tools }
const store = 'drawbridge.db'

async function aSite(projectFiles: Readonly<Record<string, string>> = files): Promise<Site> {
  const site = await Site.open(projectFiles)
  onTestFinished(() => site.close())
  return site
}

/** Expects one line on stderr, without a stack trace. */
function expectOneLine({ code, stdout, stderr }: Finished, exit: number, pattern: RegExp): void {
  expect({ code, stdout }).toEqual({ code: exit, stdout: '' })
  expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(pattern)])
}

interface AuditItem {
  readonly id: string
  readonly call: string
  readonly event: string
  readonly capability: string
}

/** Flips every occurrence: SQLite may have left an older copy of a page in the file. */
function flipFirstByte(file: string, text: string): void {
  const bytes = readFileSync(file)
  let offset = bytes.indexOf(text)
  expect(offset).toBeGreaterThan(0)
  for (; offset >= 0; offset = bytes.indexOf(text, offset + 1))
    bytes[offset] = (bytes[offset] ?? 0) ^ 1
  writeFileSync(file, bytes)
}

/** More than the default limit of a list. */
const noteCount = 105

describe('a store with history', () => {
  let site: Site
  const pendingIds: string[] = []

  beforeAll(async () => {
    site = await Site.open(files)
    const killedServer = await site.serve()
    const first = await site.connect('2026 over HTTP')
    void first.call('hang', { order: 'a' }, { meta: { 'idempotency-key': 'lost-key' } })
    await eventually(() => expect(site.runsOf('hang')).toHaveLength(1))
    await site.stop(killedServer, 'SIGKILL')
    await first.close()

    const server = await site.serve()
    const client = await site.connect('2026 over HTTP')
    await client.call('look', { order: 'a' })
    await client.call('look', { order: 7 })
    for (const order of ['a', 'b', 'c'])
      pendingIds.push(String((await client.call('pay', { order })).details.approval))
    await Promise.all(
      Array.from({ length: noteCount }, (_, index) => client.call('note', { order: `n${index}` })),
    )
    await client.close()
    await site.stop(server)
    return () => site.close()
  }, 40_000)

  describe('drawbridge runs', () => {
    test('lists an unknown run despite many later runs', async () => {
      const runList = await site.json('runs', 'list', '--state', 'unknown')

      expect(runList).toMatchObject([{ capability: 'hang', key: 'lost-key', state: 'unknown' }])
    })

    test('lists the latest runs and shows one', async () => {
      const runList = await site.json('runs')
      const [latest] = runList
      expect(runList.length).toBeGreaterThanOrEqual(100)
      expect(latest).toMatchObject({ capability: 'note', caller: 'local', state: 'done' })

      const [shownRun, missing] = await Promise.all([
        site.json('runs', 'show', latest.id),
        site.run('runs', 'show', 'no-such-id'),
      ])
      expect(shownRun).toEqual(latest)
      expectOneLine(missing, 1, /no-such-id/)
    })

    test('names the available states and verbs after a wrong one', async () => {
      const [state, verb] = await Promise.all([
        site.run('runs', 'list', '--state', 'unknwon'),
        site.run('runs', 'forget', 'x'),
      ])

      expectOneLine(verb, 2, /list, show, settle/)
      expectOneLine(state, 2, /unknown/)
    })

    test('settles an unknown run once, and its key then replays the result', async () => {
      const [{ id: unknownId }] = await site.json('runs', 'list', '--state', 'unknown')
      const settleArgs = ['runs', 'settle', unknownId, '--as', 'olga'] as const

      const withoutResult = await site.run(...settleArgs)
      const settlement = await site.run(...settleArgs, '--took', 'effect', '--json')
      const [secondSettlement, replay, auditRecords] = await Promise.all([
        site.run(...settleArgs, '--took', 'none'),
        site.json('call', 'hang', '{"order":"a"}', '--key', 'lost-key'),
        site.json('audit', '--capability', 'hang'),
      ])

      expectOneLine(withoutResult, 2, /--took effect/)
      expect(settlement.code).toBe(0)
      expectOneLine(secondSettlement, 1, /nothing to settle/)
      expect(replay.content[0].text).toContain('Settled by olga')
      expect(replay._meta['dev.drawbridge/replayed']).toMatchObject({ call: unknownId })
      expect(site.runsOf('hang')).toHaveLength(1)
      expect(auditRecords).toContainEqual(
        expect.objectContaining({ event: 'settled', call: unknownId, outcome: 'done', by: 'olga' }),
      )
      expect(JSON.parse(settlement.stdout)).toMatchObject({ id: unknownId, state: 'done' })
    })
  })

  describe('drawbridge approvals', () => {
    test('lists pending approvals and shows one', async () => {
      const [rows, approvalList, showOutput] = await Promise.all([
        site.run('approvals'),
        site.json('approvals'),
        site.run('approvals', 'show', pendingIds[0] ?? ''),
      ])

      expect(rows.stdout.trim().split('\n')).toHaveLength(3)
      expect(approvalList.map(({ id }: { id: string }) => id).sort()).toEqual(
        [...pendingIds].sort(),
      )
      expect(approvalList).toContainEqual(
        expect.objectContaining({
          id: pendingIds[0],
          state: 'pending',
          capability: 'pay',
          caller: 'local',
          shown: expect.objectContaining({ arguments: expect.stringContaining('"a"') }),
        }),
      )
      expect(showOutput.stdout).toMatch(/Allow pay\? It makes a change/)
    })

    test('approves and denies, each once', async () => {
      const [approve, deny] = pendingIds as [string, string]

      const [approved, denied] = await Promise.all([
        site.json('approvals', 'approve', approve, '--as', 'olga'),
        site.run('approvals', 'deny', deny, '--as', 'olga'),
      ])
      const [secondDecision, allApprovals, callOutput] = await Promise.all([
        site.run('approvals', 'approve', deny),
        site.json('approvals', 'list', '--all'),
        site.run('call', 'pay', '{"order":"a"}'),
      ])

      expect(approved).toMatchObject({ id: approve, state: 'approved', decidedBy: 'olga' })
      expect(denied).toMatchObject({ code: 0 })
      expect(denied.stdout).toContain(`${deny} is denied by olga`)
      expectOneLine(secondDecision, 1, /is already denied/)
      expect(allApprovals).toHaveLength(3)
      expect(callOutput.code).toBe(0)
      expect(site.runsOf('pay').map(({ input }) => input.order)).toEqual(['a'])
    })

    test('reports a missing or unknown id', async () => {
      const [noId, unknownId] = await Promise.all([
        site.run('approvals', 'approve'),
        site.run('approvals', 'approve', 'no-such-id'),
      ])

      expectOneLine(noId, 2, /An id is required/)
      expectOneLine(unknownId, 1, /There is no approval no-such-id/)
    })
  })

  describe('drawbridge audit', () => {
    test('lists records with caller and outcome, and filters them', async () => {
      const [notes, failed, noRecords, lines] = await Promise.all([
        site.json('audit', '--capability', 'note', '--limit', '7'),
        site.json('audit', '--capability', 'look', '--outcome', 'failed'),
        site.json('audit', '--caller', 'nobody'),
        site.run('audit', '.', '--capability', 'look'),
      ])

      expect(notes).toHaveLength(7)
      expect(notes.at(-1)).toMatchObject({ event: 'end', capability: 'note', outcome: 'done' })
      expect(failed).toMatchObject([
        { code: 'invalid_input', decisions: [{ step: 'input', decision: 'refused' }] },
      ])
      expect(noRecords).toEqual([])
      expect(lines.stdout).toMatch(/end +local look done/)
      expect(lines.stdout).toMatch(/end +local look failed invalid_input/)
    })

    test('prints a new record with --follow', async () => {
      const filter = ['--capability', 'look', '--limit', '0'] as const
      const follower = site.start('audit', '--follow', '--json', ...filter)
      await follower.waitForOutput(/Following/)

      await site.run('call', 'look', '{"order":"followed"}')
      await follower.waitForOutput(/"capability":"look"/)

      const lines = follower.stdout().trim().split('\n')
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { event: 'end', capability: 'look', outcome: 'done' },
      ])
      await site.stop(follower, 'SIGINT')
    })

    test('has a begin record before each end record, and --verify finds a flipped byte', async () => {
      const copy = await aSite()
      const file = path.join(copy.folder, store)
      for (const suffix of ['', '.key', '.witness'])
        await copyFile(path.join(site.folder, `${store}${suffix}`), `${file}${suffix}`)
      const [records, intact] = await Promise.all([
        copy.json('audit', '--limit', '1000') as Promise<AuditItem[]>,
        copy.run('audit', '--verify'),
      ])
      expect(records.map(({ id }) => id)).toEqual(records.map((_, index) => String(index)))
      const notes = records.filter(({ capability }) => capability === 'note')
      const begunCalls = new Set<string>()
      for (const { event, call } of notes)
        if (event === 'begin') begunCalls.add(call)
        else expect(begunCalls).toContain(call)
      expect(begunCalls.size).toBe(noteCount)
      const indexes = ['asked', 'approved', 'begin', 'end'].map((event) =>
        records.findIndex((one) => one.capability === 'pay' && one.event === event),
      )
      expect(records[indexes[1] ?? 0]).toMatchObject({ by: 'olga' })
      expect(indexes.indexOf(-1)).toBe(-1)
      expect(indexes[1]).toBeLessThan(indexes[2] ?? 0)
      expect(intact).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^\d+ records, all intact/),
      })

      const number = records.findIndex(({ capability }) => capability === 'look')
      flipFirstByte(file, records[number]?.call ?? '')

      const verifyOutput = await copy.run('audit', '--verify', '--json')
      expect(verifyOutput.code).toBe(1)
      expect(JSON.parse(verifyOutput.stdout)).toEqual({
        count: number,
        broken: { number, reason: expect.any(String) },
      })
    })
  })

  describe('drawbridge explain', () => {
    const steps = [
      'permissions',
      'rate',
      'definition',
      'input',
      'key',
      'repeats',
      'clock',
      'budget',
      'approval',
    ]
    const refusals = ({ stdout }: Finished) =>
      JSON.parse(stdout).filter(({ would }: { would: string }) => would !== 'pass')

    test('prints the decision of every step and runs nothing', async () => {
      const runsBefore = site.runsOf().length
      const [jsonOutput, textOutput] = await Promise.all([
        site.run('explain', 'note', '{"order":"e"}', '--json'),
        site.run('explain', 'note', '{"order":"e"}'),
      ])

      expect(jsonOutput.code).toBe(0)
      expect(JSON.parse(jsonOutput.stdout)).toMatchObject(
        steps.map((id) => ({ id, would: 'pass' })),
      )
      expect(textOutput.stdout.trim().split('\n')).toHaveLength(steps.length)
      expect(site.runsOf()).toHaveLength(runsBefore)
    })

    test('reports refusals with a reason and an exit code', async () => {
      const asCaller = (scopes: string) => ['--as', 'bob', '--scopes', scopes] as const
      const [missingScope, allowed, keyless, invalid] = await Promise.all([
        site.run('explain', 'guarded', '{"order":"e"}', '--json', ...asCaller('orders:write')),
        site.run(
          'explain',
          'guarded',
          '{"order":"e"}',
          '--json',
          ...asCaller('orders:*,audit:read'),
        ),
        site.run('explain', 'charge', '{"order":"e"}', '--json'),
        site.run('explain', 'note', '{"order":7}', '--json'),
      ])

      expect([missingScope, allowed, keyless, invalid].map(({ code }) => code)).toEqual([
        1, 0, 1, 1,
      ])
      expect(refusals(missingScope)).toMatchObject([
        { id: 'permissions', would: 'refuse', code: 'insufficient_scope' },
      ])
      expect(refusals(missingScope)[0].why).toContain('audit:read')
      expect(refusals(keyless)).toMatchObject([{ id: 'key', code: 'idempotency_key_required' }])
      expect(refusals(invalid)).toMatchObject([{ id: 'input', code: 'invalid_input' }])
    })

    test('reports a needed approval without requesting it', async () => {
      const explanation = await site.run('explain', 'pay', '{"order":"explained"}', '--json')
      const pending: { shown: { arguments: string } }[] = await site.json('approvals')

      expect(explanation.code).toBe(1)
      expect(pending.filter(({ shown }) => shown.arguments.includes('explained'))).toEqual([])
      expect(refusals(explanation)).toMatchObject([{ id: 'approval', would: 'ask' }])
    })

    test('reports the cost', async () => {
      const { stdout } = await site.run('explain', 'costly', '{"order":"e"}')

      expect(stdout).toMatch(/^budget +pass .*\b5\b.*EUR/m)
    })

    test('reports a replay', async () => {
      await site.run('call', 'charge', '{"order":"m"}', '--key', 'remembered')

      const explanation = await site.json(
        'explain',
        'charge',
        '{"order":"m"}',
        '--key',
        'remembered',
      )

      expect(explanation.at(-1)).toMatchObject({ id: 'repeats', would: 'replay' })
    })

    test('reports an unknown tool and invalid JSON', async () => {
      const [unknownTool, invalidJson] = await Promise.all([
        site.run('explain', 'no_such_tool', '{}'),
        site.run('explain', 'note', '{"order":'),
      ])

      expectOneLine(unknownTool, 1, /There is no tool no_such_tool/)
      expectOneLine(invalidJson, 2, /not valid JSON/)
    })
  })
})

describe('a missing store', () => {
  test('is reported in one line by the commands that read it', async () => {
    const site = await aSite()

    const answers = await Promise.all(
      [['approvals'], ['runs'], ['audit', '--verify', '--json']].map((args) => site.run(...args)),
    )

    for (const answer of answers) expectOneLine(answer, 2, /There is no store .*drawbridge\.db/)
    expect(site.read(store)).toBe('')
  })

  test('is not created by explain', async () => {
    const site = await aSite()

    expect(await site.run('explain', 'note', '{"order":"e"}')).toMatchObject({ code: 0 })

    expect(site.read(store)).toBe('')
  })
})

describe('a damaged store', () => {
  const damages: Record<string, (bytes: Buffer) => Buffer> = {
    'is a text file': () => Buffer.from('This was a shopping list. '.repeat(500)),
    'is truncated to half': (bytes) => bytes.subarray(0, bytes.length / 2),
    'has an overwritten page': (bytes) => {
      const damaged = Buffer.from(bytes)
      damaged.fill(0xa5, 4096, 3 * 4096)
      return damaged
    },
  }
  let intactBytes: Buffer

  beforeAll(async () => {
    const site = await Site.open(files)
    await site.run('call', 'note', '{"order":"a"}')
    intactBytes = readFileSync(path.join(site.folder, store))
    await site.close()
  })

  test.each(Object.entries(damages))(
    'that %s refuses effects with the next step, allows reads and is left unchanged',
    async (_, damage) => {
      const site = await aSite()
      const file = path.join(site.folder, store)
      const damaged = damage(intactBytes)
      writeFileSync(file, damaged)

      const { code, stdout, stderr } = await site.run('call', 'note', '{"order":"b"}')
      const read = await site.run('call', 'look', '{"order":"b"}')

      expect({ code, reads: read.code }).toEqual({ code: 1, reads: 0 })
      expect(stdout).toContain('drawbridge store check')
      expect(stderr).toContain(file)
      expect(stderr).not.toMatch(/\n\s+at /)
      expect(readFileSync(file).equals(damaged)).toBe(true)
    },
  )
})

describe('a mistake in the policy', () => {
  test('is reported with file, line and a suggested key, all mistakes together', async () => {
    const site = await aSite({
      ...files,
      'drawbridge.yaml': `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  mod: observe
  rules:
    - match: pay
      aproval: true
    - match: note
      budgets:
        - limt: 5
          limit: 5
          thresholds: { allert: 50 }
  approvals: { askd: 60 }
`,
    })
    const file = path.join(site.folder, 'drawbridge.yaml')

    const { code, stdout, stderr } = await site.run('serve', '--port', '0')

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    for (const [line, wrongKey, suggestedKey] of [
      [5, 'mod', 'mode'],
      [8, 'aproval', 'approval'],
      [11, 'limt', 'limit'],
      [13, 'allert', 'alert'],
      [14, 'askd', 'asked'],
    ] as const) {
      const diagnostic = stderr.split('\n').find((one) => one.startsWith(`${file}:${line}:`))
      expect(diagnostic).toContain(`unknown key "${wrongKey}"`)
      expect(diagnostic).toContain(`Did you mean "${suggestedKey}"?`)
    }
  })

  test('in a value is reported with its line and the accepted values', async () => {
    const site = await aSite({
      ...files,
      'drawbridge.yaml': `name: acme
policy:
  mode: watch
  rules:
    - match: pay
      approvers: anybody
`,
    })
    const file = path.join(site.folder, 'drawbridge.yaml')

    const { code, stderr } = await site.run('check')

    const lineOf = (line: number) =>
      stderr.split('\n').find((one) => one.startsWith(`${file}:${line}:`))
    expect(code).toBe(2)
    expect(lineOf(3)).toMatch(/enforce.*observe/)
    expect(lineOf(6)).toMatch(/approvers.*others/)
    expect(stderr).not.toContain('a source needs')
  })
})
