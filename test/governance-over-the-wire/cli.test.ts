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

async function aSite(given: Readonly<Record<string, string>> = files): Promise<Site> {
  const site = await Site.open(given)
  onTestFinished(() => site.close())
  return site
}

/** Said in one line, to a person: no stack, no second complaint. */
function expectOneLine({ code, stdout, stderr }: Finished, exit: number, words: RegExp): void {
  expect({ code, stdout }).toEqual({ code: exit, stdout: '' })
  expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(words)])
}

interface AuditItem {
  readonly id: string
  readonly call: string
  readonly event: string
  readonly capability: string
}

/** Wherever a text stands in a file: SQLite may have left an older copy of a page behind. */
function flipFirstByte(file: string, text: string): void {
  const bytes = readFileSync(file)
  let place = bytes.indexOf(text)
  expect(place).toBeGreaterThan(0)
  for (; place >= 0; place = bytes.indexOf(text, place + 1)) bytes[place] = (bytes[place] ?? 0) ^ 1
  writeFileSync(file, bytes)
}

/** Longer than any list is by default. */
const many = 105

describe('a store with a history', () => {
  let site: Site
  const waiting: string[] = []

  beforeAll(async () => {
    site = await Site.open(files)
    const doomed = await site.serve()
    const first = await site.connect('2026 over HTTP')
    void first.call('hang', { order: 'a' }, { meta: { 'idempotency-key': 'lost-key' } })
    await eventually(() => expect(site.ran('hang')).toHaveLength(1))
    await site.stop(doomed, 'SIGKILL')
    await first.close()

    const server = await site.serve()
    const client = await site.connect('2026 over HTTP')
    await client.call('look', { order: 'a' })
    await client.call('look', { order: 7 })
    for (const order of ['a', 'b', 'c'])
      waiting.push(String((await client.call('pay', { order })).details.approval))
    await Promise.all(
      Array.from({ length: many }, (_, index) => client.call('note', { order: `n${index}` })),
    )
    await client.close()
    await site.stop(server)
    return () => site.close()
  }, 40_000)

  describe('is opened by "runs", which', () => {
    test('finds the one that nobody knows the end of, however much came after it', async () => {
      const listed = await site.json('runs', 'list', '--state', 'unknown')

      expect(listed).toMatchObject([{ capability: 'hang', key: 'lost-key', state: 'unknown' }])
    })

    test('lists the latest, and shows one', async () => {
      const listed = await site.json('runs')
      const [latest] = listed
      expect(listed.length).toBeGreaterThanOrEqual(100)
      expect(latest).toMatchObject({ capability: 'note', caller: 'local', state: 'done' })

      const [shown, missing] = await Promise.all([
        site.json('runs', 'show', latest.id),
        site.run('runs', 'show', 'no-such-id'),
      ])
      expect(shown).toEqual(latest)
      expectOneLine(missing, 1, /no-such-id/)
    })

    test('says which states and verbs there are instead of guessing', async () => {
      const [state, verb] = await Promise.all([
        site.run('runs', 'list', '--state', 'unknwon'),
        site.run('runs', 'forget', 'x'),
      ])

      expectOneLine(verb, 2, /list, show, settle/)
      expectOneLine(state, 2, /unknown/)
    })

    test('settles it once, on the word of somebody who found out; its key then answers that', async () => {
      const [{ id: lost }] = await site.json('runs', 'list', '--state', 'unknown')
      const words = ['runs', 'settle', lost, '--as', 'olga'] as const

      const unsaid = await site.run(...words)
      const settled = await site.run(...words, '--took', 'effect', '--json')
      const [again, called, audited] = await Promise.all([
        site.run(...words, '--took', 'none'),
        site.json('call', 'hang', '{"order":"a"}', '--key', 'lost-key'),
        site.json('audit', '--capability', 'hang'),
      ])

      expectOneLine(unsaid, 2, /--took effect/)
      expect(settled.code).toBe(0)
      expectOneLine(again, 1, /nothing to settle/)
      expect(called.content[0].text).toContain('Settled by olga')
      expect(called._meta['dev.drawbridge/replayed']).toMatchObject({ call: lost })
      expect(site.ran('hang')).toHaveLength(1)
      expect(audited).toContainEqual(
        expect.objectContaining({ event: 'settled', call: lost, outcome: 'done', by: 'olga' }),
      )
      expect(JSON.parse(settled.stdout)).toMatchObject({ id: lost, state: 'done' })
    })
  })

  describe('is opened by "approvals", which', () => {
    test('lists what waits, and shows one', async () => {
      const [rows, listed, shown] = await Promise.all([
        site.run('approvals'),
        site.json('approvals'),
        site.run('approvals', 'show', waiting[0] ?? ''),
      ])

      expect(rows.stdout.trim().split('\n')).toHaveLength(3)
      expect(listed.map(({ id }: { id: string }) => id).sort()).toEqual([...waiting].sort())
      expect(listed).toContainEqual(
        expect.objectContaining({
          id: waiting[0],
          state: 'pending',
          capability: 'pay',
          caller: 'local',
          shown: expect.objectContaining({ arguments: expect.stringContaining('"a"') }),
        }),
      )
      expect(shown.stdout).toMatch(/Allow pay\? It changes something/)
    })

    test('takes a yes and a no, each once', async () => {
      const [approve, deny] = waiting as [string, string]

      const [approved, denied] = await Promise.all([
        site.json('approvals', 'approve', approve, '--as', 'olga'),
        site.run('approvals', 'deny', deny, '--as', 'olga'),
      ])
      const [again, all, ran] = await Promise.all([
        site.run('approvals', 'approve', deny),
        site.json('approvals', 'list', '--all'),
        site.run('call', 'pay', '{"order":"a"}'),
      ])

      expect(approved).toMatchObject({ id: approve, state: 'approved', decidedBy: 'olga' })
      expect(denied).toMatchObject({ code: 0 })
      expect(denied.stdout).toContain(`${deny} is denied by olga`)
      expectOneLine(again, 1, /is denied already/)
      expect(all).toHaveLength(3)
      expect(ran.code).toBe(0)
      expect(site.ran('pay').map(({ input }) => input.order)).toEqual(['a'])
    })

    test('says what is missing or unknown', async () => {
      const [noId, unknown] = await Promise.all([
        site.run('approvals', 'approve'),
        site.run('approvals', 'approve', 'no-such-id'),
      ])

      expectOneLine(noId, 2, /An id is required/)
      expectOneLine(unknown, 1, /There is no approval no-such-id/)
    })
  })

  describe('is opened by "audit", which', () => {
    test('tells who called what, with what outcome, and filters it', async () => {
      const [notes, failed, nobody, lines] = await Promise.all([
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
      expect(nobody).toEqual([])
      expect(lines.stdout).toMatch(/end +local look done/)
      expect(lines.stdout).toMatch(/end +local look failed invalid_input/)
    })

    test('shows a new call while it follows', async () => {
      const filter = ['--capability', 'look', '--limit', '0'] as const
      const following = site.start('audit', '--follow', '--json', ...filter)
      await following.said(/Following/)

      await site.run('call', 'look', '{"order":"followed"}')
      await following.said(/"capability":"look"/)

      const lines = following.stdout().trim().split('\n')
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { event: 'end', capability: 'look', outcome: 'done' },
      ])
      await site.stop(following, 'SIGINT')
    })

    test('has the beginning of every effect before its end, and finds one flipped byte at its record', async () => {
      const copy = await aSite()
      const file = path.join(copy.folder, store)
      await copyFile(path.join(site.folder, store), file)
      const [records, sound] = await Promise.all([
        copy.json('audit', '--limit', '1000') as Promise<AuditItem[]>,
        copy.run('audit', '--verify'),
      ])
      expect(records.map(({ id }) => id)).toEqual(records.map((_, index) => String(index)))
      const notes = records.filter(({ capability }) => capability === 'note')
      const began = new Set<string>()
      for (const { event, call } of notes)
        if (event === 'begin') began.add(call)
        else expect(began).toContain(call)
      expect(began.size).toBe(many)
      const places = ['asked', 'approved', 'begin', 'end'].map((event) =>
        records.findIndex((one) => one.capability === 'pay' && one.event === event),
      )
      expect(records[places[1] ?? 0]).toMatchObject({ by: 'olga' })
      expect(places.indexOf(-1)).toBe(-1)
      expect(places[1]).toBeLessThan(places[2] ?? 0)
      expect(sound).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^\d+ records, all intact/),
      })

      const number = records.findIndex(({ capability }) => capability === 'look')
      flipFirstByte(file, records[number]?.call ?? '')

      const verified = await copy.run('audit', '--verify', '--json')
      expect(verified.code).toBe(1)
      expect(JSON.parse(verified.stdout)).toEqual({
        count: number,
        broken: { number, reason: expect.any(String) },
      })
    })
  })

  describe('is only looked at by "explain", which', () => {
    const steps = [
      'permissions',
      'rate',
      'definition',
      'input',
      'key',
      'repeats',
      'budget',
      'approval',
    ]
    const refusals = ({ stdout }: Finished) =>
      JSON.parse(stdout).filter(({ would }: { would: string }) => would !== 'pass')

    test('says what every step would say, and runs nothing', async () => {
      const before = site.ran().length
      const [fine, told] = await Promise.all([
        site.run('explain', 'note', '{"order":"e"}', '--json'),
        site.run('explain', 'note', '{"order":"e"}'),
      ])

      expect(fine.code).toBe(0)
      expect(JSON.parse(fine.stdout)).toMatchObject(steps.map((id) => ({ id, would: 'pass' })))
      expect(told.stdout.trim().split('\n')).toHaveLength(steps.length)
      expect(site.ran()).toHaveLength(before)
    })

    test('says who would be refused, and why, with its exit code', async () => {
      const as = (scopes: string) => ['--as', 'bob', '--scopes', scopes] as const
      const [scopes, allowed, keyless, invalid] = await Promise.all([
        site.run('explain', 'guarded', '{"order":"e"}', '--json', ...as('orders:write')),
        site.run('explain', 'guarded', '{"order":"e"}', '--json', ...as('orders:*,audit:read')),
        site.run('explain', 'charge', '{"order":"e"}', '--json'),
        site.run('explain', 'note', '{"order":7}', '--json'),
      ])

      expect([scopes, allowed, keyless, invalid].map(({ code }) => code)).toEqual([1, 0, 1, 1])
      expect(refusals(scopes)).toMatchObject([
        { id: 'permissions', would: 'refuse', code: 'insufficient_scope' },
      ])
      expect(refusals(scopes)[0].why).toContain('audit:read')
      expect(refusals(keyless)).toMatchObject([{ id: 'key', code: 'idempotency_key_required' }])
      expect(refusals(invalid)).toMatchObject([{ id: 'input', code: 'invalid_input' }])
    })

    test('says where a human would be asked, without asking', async () => {
      const explained = await site.run('explain', 'pay', '{"order":"explained"}', '--json')
      const pending: { shown: { arguments: string } }[] = await site.json('approvals')

      expect(explained.code).toBe(1)
      expect(pending.filter(({ shown }) => shown.arguments.includes('explained'))).toEqual([])
      expect(refusals(explained)).toMatchObject([{ id: 'approval', would: 'ask' }])
    })

    test('says what would be charged', async () => {
      const { stdout } = await site.run('explain', 'costly', '{"order":"e"}')

      expect(stdout).toMatch(/^budget +pass .*\b5\b.*EUR/m)
    })

    test('says that a call would be answered from memory', async () => {
      await site.run('call', 'charge', '{"order":"m"}', '--key', 'remembered')

      const explained = await site.json('explain', 'charge', '{"order":"m"}', '--key', 'remembered')

      expect(explained.at(-1)).toMatchObject({ id: 'repeats', would: 'replay' })
    })

    test('says what it cannot explain', async () => {
      const [unknown, noJson] = await Promise.all([
        site.run('explain', 'no_such_tool', '{}'),
        site.run('explain', 'note', '{"order":'),
      ])

      expectOneLine(unknown, 1, /There is no tool no_such_tool/)
      expectOneLine(noJson, 2, /not valid JSON/)
    })
  })
})

describe('a store that is not there', () => {
  test('is missed by those who look into it, in one clear line', async () => {
    const site = await aSite()

    const answers = await Promise.all(
      [['approvals'], ['runs'], ['audit', '--verify', '--json']].map((words) => site.run(...words)),
    )

    for (const answer of answers) expectOneLine(answer, 2, /There is no store .*drawbridge\.db/)
    expect(site.read(store)).toBe('')
  })

  test('is not made by those who only explain', async () => {
    const site = await aSite()

    expect(await site.run('explain', 'note', '{"order":"e"}')).toMatchObject({ code: 0 })

    expect(site.read(store)).toBe('')
  })
})

describe('a store that is damaged', () => {
  const damages: Record<string, (bytes: Buffer) => Buffer> = {
    'is something else altogether': () => Buffer.from('This was a shopping list. '.repeat(500)),
    'lost its second half': (bytes) => bytes.subarray(0, bytes.length / 2),
    'has a page of nonsense in it': (bytes) => {
      const damaged = Buffer.from(bytes)
      damaged.fill(0xa5, 4096, 3 * 4096)
      return damaged
    },
  }
  let sound: Buffer

  beforeAll(async () => {
    const site = await Site.open(files)
    await site.run('call', 'note', '{"order":"a"}')
    sound = readFileSync(path.join(site.folder, store))
    await site.close()
  })

  test.each(Object.entries(damages))(
    'because it %s is refused, and left as it is',
    async (_, damage) => {
      const site = await aSite()
      const file = path.join(site.folder, store)
      const damaged = damage(sound)
      writeFileSync(file, damaged)

      const { code, stdout, stderr } = await site.run('serve', '--port', '0')

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/cannot be (used|opened): ./)
      expect(stderr).toContain(file)
      expect(stderr).not.toMatch(/\n\s+at /)
      expect(readFileSync(file).equals(damaged)).toBe(true)
    },
  )
})

describe('a mistake in the policy', () => {
  test('is named with file, line and the key that was meant, all of them at once', async () => {
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
    for (const [line, wrong, right] of [
      [5, 'mod', 'mode'],
      [8, 'aproval', 'approval'],
      [11, 'limt', 'limit'],
      [13, 'allert', 'alert'],
      [14, 'askd', 'asked'],
    ] as const) {
      const complaint = stderr.split('\n').find((one) => one.startsWith(`${file}:${line}:`))
      expect(complaint).toContain(`unknown key "${wrong}"`)
      expect(complaint).toContain(`Did you mean "${right}"?`)
    }
  })

  test('in a value is named where it is, with what would be understood there', async () => {
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
