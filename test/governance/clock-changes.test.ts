import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { requestMeta, resultMeta } from '../../src/mcp/wire-names.ts'
import { aProject } from '../support/a-project.ts'
import { isSoak } from '../support/amount.ts'
import type { Finished } from '../support/cli-host.ts'
import { eventually } from '../support/eventually.ts'
import { describeWithFakeTime, FakeWallClock } from '../support/fake-time.ts'
import { postModern } from '../support/modern-request.ts'
import { drawbridge, main, startServing } from '../support/run-cli.ts'
import { type StartedProcess, startProcess } from '../support/start-process.ts'

const jumps = ['+25h', '-25h', '+10m', '-10m', '-1h']

describeWithFakeTime('a changed wall clock', () => {
  test('while a server runs, revives nothing, repeats nothing and refills no budget', async () => {
    const shop = await Shop.open()
    const wallClock = new FakeWallClock(shop.folder)
    const server = await shop.serve(wallClock)

    for (const jump of jumps) {
      wallClock.set(jump)
      expect(await shop.tryEverything()).toEqual({
        pending: 'approval_required',
        denied: 'approval_denied',
        expired: 'approval_required',
        used: 'possible_duplicate',
        keyed: 'replayed',
        budgeted: 'budget_exceeded',
        duplicate: 'possible_duplicate',
        harmless: 'done',
      })
      expect(await shop.approveExpired()).toContain('expired')
    }
    // An approval lives by elapsed time: no jump has used up its hour.
    expect(await shop.call('approved')).toBe('done')
    expect(shop.runs).toEqual({ ...runsBefore, approved: 1, harmless: jumps.length })
    expect(server.stderr()).toContain('which ignores it')
  })

  test.each(isSoak ? jumps : ['+25h'])(
    'of %s across a restart refuses what depends on time until an operator confirms',
    async (jump) => {
      const shop = await Shop.open()
      const wallClock = new FakeWallClock(shop.folder)
      wallClock.set(jump)
      const server = await shop.serve(wallClock)

      expect(server.stderr()).toContain('run \\"drawbridge clock confirm\\"')
      expect(await shop.tryEverything()).toEqual({ ...refusedInDoubt, harmless: 'done' })
      expect(await shop.call('approved')).toBe('clock_uncertain')
      expect(shop.runs).toEqual({ ...runsBefore, harmless: 1 })

      expect(await shop.confirm(wallClock)).toMatch(/^Confirmed by olga/)
      const verdicts = await shop.tryEverything()
      expect(verdicts).toMatchObject({
        pending: 'approval_required',
        denied: 'approval_denied',
        expired: 'approval_required',
        used: 'possible_duplicate',
        keyed: 'replayed',
        duplicate: 'possible_duplicate',
      })
      // Approvals that the confirmed clock calls expired are gone.
      expect(await shop.call('approved')).toBe(jump === '+25h' ? 'approval_required' : 'done')
      const { used, keyed, duplicate } = shop.runs
      expect({ used, keyed, duplicate }).toEqual({ used: 1, keyed: 1, duplicate: 1 })
    },
  )

  test.skipIf(!isSoak)(
    'that is set back again leaves everything as it was',
    { timeout: 600_000 },
    async () => {
      for (const jump of jumps) {
        const shop = await Shop.open()
        const wallClock = new FakeWallClock(shop.folder)
        wallClock.set(jump)
        const server = await shop.serve(wallClock)
        await shop.tryEverything()
        // Live and across a kill: the wall clock is right again.
        wallClock.set('+0')
        expect(await shop.call('keyed')).toBe('replayed')
        expect(await shop.call('budgeted')).toBe('budget_exceeded')
        server.process.kill('SIGKILL')
        await server.exited
        await shop.serve(wallClock)
        expect(await shop.tryEverything()).toMatchObject({
          pending: 'approval_required',
          denied: 'approval_denied',
          expired: 'approval_required',
          used: 'possible_duplicate',
          keyed: 'replayed',
          budgeted: 'budget_exceeded',
          duplicate: 'possible_duplicate',
        })
        expect(await shop.call('approved')).toBe('done')
        expect(shop.runs).toEqual({ ...runsBefore, approved: 1, harmless: 2 })
      }
    },
  )

  test.skipIf(!isSoak)('while a server runs is still noticed after kill -9', async () => {
    for (const jump of jumps) {
      const shop = await Shop.open()
      const wallClock = new FakeWallClock(shop.folder)
      const server = await shop.serve(wallClock)
      wallClock.set(jump)
      await shop.tryEverything()
      server.process.kill('SIGKILL')
      await server.exited
      await shop.serve(wallClock)
      expect(await shop.tryEverything()).toMatchObject(refusedInDoubt)
      expect(await shop.call('approved')).toBe('clock_uncertain')
      expect(shop.runs).toMatchObject(runsBefore)
    }
  })
})

/** Replays and duplicates are answered; what would run or spend is refused. */
const refusedInDoubt = {
  pending: 'clock_uncertain',
  denied: 'clock_uncertain',
  expired: 'clock_uncertain',
  used: 'possible_duplicate',
  keyed: 'replayed',
  budgeted: 'clock_uncertain',
  duplicate: 'possible_duplicate',
}

const runsBefore = { used: 1, keyed: 1, budgeted: 1, duplicate: 1 }

const names = [
  'pending',
  'approved',
  'denied',
  'expired',
  'used',
  'keyed',
  'budgeted',
  'duplicate',
  'harmless',
] as const
type Name = (typeof names)[number]

const tools = `
import { appendFileSync } from 'node:fs'
import { defineTool, z } from 'drawbridge-mcp'
const file = new URL('./ran.txt', import.meta.url)
const tool = (name, category) => defineTool({
  name, category, description: 'Counts its runs.', schema: z.object({ order: z.number().optional() }),
  execute: () => { appendFileSync(file, name + ' '); return { name } },
})
export default [...${JSON.stringify(names.slice(0, -1))}.map((name) => tool(name, 'write')), tool('harmless', 'read')]
`

const config = `
sources: [{ definitions: ./tools.mjs }]
policy:
  approvals: { asked: 1, pending: 3600 }
  duplicates: { window: 3600 }
  rules:
    - { match: [pending, approved, denied, expired, used], approval: true }
    - match: budgeted
      budgets: [{ limit: 1, unit: calls, per: caller, window: month, thresholds: { reauthorise: 100, stop: 100 } }]
`

/** A server with an approval in each state, a used key, a spent budget and a recent call. */
class Shop {
  readonly folder: string
  #url = ''
  #expiredId = ''
  #orders = 0

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Made with the real wall clock. */
  static async open(): Promise<Shop> {
    const folder = await aProject({ 'tools.mjs': tools, 'drawbridge.yaml': config })
    const shop = new Shop(folder)
    const server = await startServing([], { cwd: folder })
    shop.#url = server.url
    await shop.#letExpire()
    await shop.#decide('approved', 'approve')
    await shop.#decide('used', 'approve')
    await shop.#decide('denied', 'deny')
    for (const name of ['pending', 'used', 'keyed', 'budgeted', 'duplicate'] as const)
      await shop.call(name)
    expect(shop.runs).toEqual(runsBefore)
    server.process.kill('SIGTERM')
    await server.exited
    return shop
  }

  async serve(wallClock: FakeWallClock): Promise<StartedProcess> {
    const server = await startServing([], { cwd: this.folder, env: wallClock.environment })
    this.#url = server.url
    return server
  }

  async call(name: Name): Promise<string> {
    const { code, isReplayed } = await this.#post(name)
    return code ?? (isReplayed ? 'replayed' : 'done')
  }

  /** Calls everything but `approved`, which would run. */
  async tryEverything(): Promise<Partial<Record<Name, string>>> {
    const verdicts: Partial<Record<Name, string>> = {}
    for (const name of names) if (name !== 'approved') verdicts[name] = await this.call(name)
    return verdicts
  }

  /** Tries to approve the expired approval; returns the message. */
  async approveExpired(): Promise<string> {
    const { stderr } = await this.#run('approvals', 'approve', this.#expiredId)
    return stderr
  }

  async confirm(wallClock: FakeWallClock): Promise<string> {
    const { stdout, exited } = startProcess([main, 'clock', 'confirm', '--as', 'olga'], {
      cwd: this.folder,
      env: wallClock.environment,
    })
    await exited
    return stdout()
  }

  /** How often each tool has run. */
  get runs(): Record<string, number> {
    const counts: Record<string, number> = {}
    const ran = readFileSync(path.join(this.folder, 'ran.txt'), 'utf8').split(' ').filter(Boolean)
    for (const name of ran) counts[name] = (counts[name] ?? 0) + 1
    return counts
  }

  /** Asks in a form, whose approval lives for a second, and tries to approve it later. */
  async #letExpire(): Promise<void> {
    await this.#post('expired', { elicitation: { form: {} } })
    const [{ id }] = JSON.parse((await this.#run('approvals', 'list', '--all', '--json')).stdout)
    this.#expiredId = id
    await eventually(async () =>
      expect((await this.#run('approvals', 'list', '--json')).stdout.trim()).toBe('[]'),
    )
    expect(await this.approveExpired()).toContain('has expired')
  }

  async #decide(name: Name, action: 'approve' | 'deny'): Promise<void> {
    const { approval = '' } = await this.#post(name)
    expect(await this.#run('approvals', action, approval)).toMatchObject({ code: 0 })
  }

  async #post(name: Name, clientCapabilities: object = {}): Promise<Verdict> {
    const { answer } = await postModern(this.#url, 'tools/call', {
      name,
      arguments: name === 'budgeted' ? { order: this.#orders++ } : {},
      _meta: {
        'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
        ...(name === 'keyed' && { [requestMeta.idempotencyKey]: 'k' }),
      },
    })
    const meta = (answer.result?._meta ?? {}) as Record<string, Record<string, unknown>>
    const { code, details } = meta[resultMeta.failure] ?? {}
    const { approval } = (details ?? {}) as { approval?: string }
    return { code: code as string, approval, isReplayed: resultMeta.replayed in meta }
  }

  #run(...args: readonly string[]): Promise<Finished> {
    return drawbridge(args, { cwd: this.folder })
  }
}

interface Verdict {
  readonly code: string | undefined
  readonly approval: string | undefined
  readonly isReplayed: boolean
}
