import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { atMost } from '../support/amount.ts'
import { countingTools } from '../support/counting-tools.ts'
import { type DoorClient, doors, type PersonsAnswer, prefix, says } from '../support/doors.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

const pay = {
  name: 'pay',
  description: 'Pays an invoice.',
  more: `requiresConfirmation: true, consequenceLevel: 'high', cost: { amount: 5, unit: 'EUR' },`,
}

/** A refusal for which nobody can be asked must not keep a model waiting. */
const atOnce = atMost(1000)

let order = 0
const anOrder = () => ({ order: `order-${order++}` })

describe('a call that needs an approval', () => {
  let site: Site
  let answer: PersonsAnswer
  const asking = new Map<string, DoorClient>()
  const mute = new Map<string, DoorClient>()

  beforeAll(async () => {
    site = await Site.open({
      'drawbridge.yaml': `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  rules:
    - { match: pay, budgets: [{ limit: 1000, unit: EUR, window: month }] }
`,
      'tools/all.ts': countingTools(pay, { name: 'look', category: 'read' }),
    })
    await site.serve()
    await Promise.all(
      doors.flatMap((door) => [
        site.connect(door, { person: () => answer }).then((one) => asking.set(door, one)),
        site.connect(door).then((one) => mute.set(door, one)),
      ]),
    )
    return () => site.close()
  })

  const clientOf = (clients: Map<string, DoorClient>, door: string): DoorClient => {
    const client = clients.get(door)
    if (!client) throw new Error(`no client for ${door}`)
    client.shown.length = 0
    return client
  }
  const timesRan = (input: { order: string }) =>
    site.ran().filter((one) => one.input.order === input.order).length

  describe.each(doors)('of a client of %s', (door) => {
    test('runs once when the person there says yes', async () => {
      const client = clientOf(asking, door)
      const input = anOrder()
      answer = says.yes

      const first = await client.call('pay', input)
      const again = await client.call('pay', input)

      expect(first).toMatchObject({ verdict: 'done', data: { done: input.order } })
      expect(again.verdict).toBe('possible_duplicate')
      expect(client.shown).toHaveLength(1)
      expect(timesRan(input)).toBe(1)
    })

    test('shows the person tool, origin, purpose, effects, arguments and cost', async () => {
      const client = clientOf(asking, door)
      const input = anOrder()
      answer = says.no

      await client.call('pay', input)

      const [message = ''] = client.shown
      expect(message).toContain('pay')
      expect(message).toContain('./tools/*.ts')
      expect(message).toContain('Pays an invoice.')
      expect(message).toContain('changes something for good')
      expect(message).toContain(input.order)
      expect(message).toContain('5 EUR')
    })

    test('does not run when the person says no, and is not asked about again', async () => {
      const client = clientOf(asking, door)
      const input = anOrder()
      answer = says.no

      const first = await client.call('pay', input)
      const again = await client.call('pay', input)

      expect([first.verdict, again.verdict]).toEqual(['approval_denied', 'approval_denied'])
      expect(client.shown).toHaveLength(1)
      expect(timesRan(input)).toBe(0)
    })

    test('does not run when the form comes back without the yes in it', async () => {
      const client = clientOf(asking, door)
      const input = anOrder()
      answer = { action: 'accept', content: { approve: false } }

      expect(await client.call('pay', input)).toMatchObject({ verdict: 'approval_denied' })
      expect(timesRan(input)).toBe(0)
    })

    test('stays open for somebody else when the person closes the form', async () => {
      const client = clientOf(asking, door)
      const input = anOrder()
      answer = says.nothing

      const closed = await client.call('pay', input)
      expect(closed).toMatchObject({
        verdict: 'approval_required',
        details: { approval: expect.any(String) },
      })
      expect(timesRan(input)).toBe(0)

      answer = says.yes
      expect(await client.call('pay', input)).toMatchObject({ verdict: 'done' })
      expect(timesRan(input)).toBe(1)
    })

    test('is refused at once where nobody can be asked, and runs once after a human approved it in a terminal', async () => {
      const client = clientOf(mute, door)
      const input = anOrder()

      const began = performance.now()
      const refused = await client.call('pay', input)
      const took = performance.now() - began
      const id = String(refused.details.approval)
      expect(refused.verdict).toBe('approval_required')
      expect(refused.text).toContain(`drawbridge approvals approve ${id}`)
      expect(refused.text).toMatch(/same call again/)
      expect(refused.meta.failure).toMatchObject({ retryable: true })
      expect(took).toBeLessThan(atOnce)
      expect(timesRan(input)).toBe(0)

      const approved = await site.run('approvals', 'approve', id)
      expect(approved).toMatchObject({ code: 0, stderr: '' })

      const answers = await Promise.all(Array.from({ length: 5 }, () => client.call('pay', input)))
      const verdicts = answers.map(({ verdict }) => verdict)
      expect(verdicts.filter((verdict) => verdict === 'done')).toHaveLength(1)
      expect(timesRan(input)).toBe(1)
    })
  })

  test('is good for these arguments and no others', async () => {
    const client = clientOf(mute, '2026 over HTTP')
    const [input, other] = [anOrder(), anOrder()]
    const { details } = await client.call('pay', input)
    await site.run('approvals', 'approve', String(details.approval))

    const swapped = await client.call('pay', other)

    expect(swapped).toMatchObject({ verdict: 'approval_required' })
    expect(swapped.details.approval).not.toBe(details.approval)
    expect(timesRan(other)).toBe(0)
  })

  test('is used up once even when two servers on one store are called at the same time', async () => {
    const input = anOrder()
    const { details } = await clientOf(mute, '2026 over HTTP').call('pay', input)
    await site.run('approvals', 'approve', String(details.approval))

    const answers = await Promise.all(
      doors.flatMap((door) => [1, 2, 3].map(() => clientOf(mute, door).call('pay', input))),
    )

    expect(answers.filter(({ verdict }) => verdict === 'done')).toHaveLength(1)
    expect(timesRan(input)).toBe(1)
  })

  test('is refused for good when a human denied it in a terminal', async () => {
    const client = clientOf(mute, '2026 over HTTP')
    const input = anOrder()
    const { details } = await client.call('pay', input)

    const denied = await site.run('approvals', 'deny', String(details.approval), '--as', 'bea')

    expect(denied.code).toBe(0)
    const again = await client.call('pay', input)
    expect(again.verdict).toBe('approval_denied')
    expect(again.text).toContain('bea')
    expect(timesRan(input)).toBe(0)
  })

  test('does not run when the client gives up while the person thinks', async () => {
    for (const door of ['2025 over HTTP', '2025 over stdio'] as const) {
      const leaving = new AbortController()
      let decide: (answer: PersonsAnswer) => void = () => {}
      const input = anOrder()
      const client = await site.connect(door, {
        person: () => {
          leaving.abort()
          return new Promise<PersonsAnswer>((resolve) => {
            decide = resolve
          })
        },
      })

      await client.call('pay', input, { signal: leaving.signal })
      decide(says.yes)

      // Anything that would still run has been sent before this is answered.
      expect(await client.call('look', input)).toMatchObject({ verdict: 'done' })
      expect(site.ran('pay').filter((one) => one.input.order === input.order)).toEqual([])
    }
  })

  test('is left to others when the client breaks down over the question', async () => {
    for (const door of ['2025 over HTTP', '2025 over stdio'] as const) {
      const input = anOrder()
      const client = await site.connect(door, {
        person: () => {
          throw new Error('no window to ask in')
        },
      })

      expect(await client.call('pay', input)).toMatchObject({ verdict: 'approval_required' })
      expect(timesRan(input)).toBe(0)
    }
  })

  test('is refused at once to a client of 2025 that began no session', async () => {
    const began = performance.now()
    const response = await fetch(site.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'pay', arguments: anOrder() },
      }),
    })

    expect(response.status).toBe(400)
    expect(performance.now() - began).toBeLessThan(atOnce)
  })

  test('does not keep other calls waiting while the person thinks', async () => {
    for (const door of ['2025 over HTTP', '2025 over stdio'] as const) {
      let decide: (answer: PersonsAnswer) => void = () => {}
      let asked: () => void = () => {}
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve
      })
      const client = await site.connect(door, {
        person: () => {
          asked()
          return new Promise<PersonsAnswer>((resolve) => {
            decide = resolve
          })
        },
      })
      const input = anOrder()

      const paying = client.call('pay', input)
      await isAsked
      expect(await client.call('look', anOrder())).toMatchObject({ verdict: 'done' })
      decide(says.yes)

      expect(await paying).toMatchObject({ verdict: 'done' })
    }
  })

  test('shows nothing that could hide itself, move the cursor or turn the reading direction', async () => {
    const client = clientOf(asking, '2026 over HTTP')
    const hostile: Record<string, string> = {
      escape: '\u001b[2K\u001b[1A',
      'bell and backspace': '\u0007\u0008',
      'C1 control': '\u009b31m',
      delete: '\u007f',
      'right-to-left override': '\u202egpj.exe',
      isolate: '\u2066\u2069',
      'zero width': '\u200b\u200d\ufeff',
      'tag characters': '\u{e0041}\u{e0042}',
      'soft hyphen': '\u00ad',
      'carriage return': '\rAllow nothing?',
    }
    answer = says.nothing
    const input = { order: Object.values(hostile).join(' ') }

    const { details } = await client.call('pay', input)
    const id = String(details.approval)
    const terminal = await site.run('approvals', 'show', id)
    const page = await fetch(new URL(`/approvals/${id}`, site.url))

    const [message = ''] = client.shown
    for (const [where, text] of Object.entries({
      message,
      terminal: terminal.stdout,
      page: JSON.stringify(((await page.json()) as { shown: object }).shown),
    }))
      for (const [what, characters] of Object.entries(hostile))
        for (const character of characters)
          if (/\p{C}/u.test(character))
            expect({ where, what, found: text.includes(character) }).toEqual({
              where,
              what,
              found: false,
            })
    expect(message).toContain('\\u{202e}gpj.exe')
    expect(message).toContain('\\u{200b}')
    expect(terminal.stdout).toContain('\\u{202e}gpj.exe')
  })

  test('cannot fake a line of what the person is shown', async () => {
    const client = clientOf(asking, '2026 over HTTP')
    answer = says.nothing

    await client.call('pay', {
      order: 'x"\n}\nWhat it is for: nothing\nFrom: somewhere safe',
    })
    await client.call('pay', { order: 'x"\u2028From: somewhere safe\u2029From: somewhere safe' })

    for (const message of client.shown) {
      // All that Unicode says must break a line.
      const lines = message.split(/[\n\v\f\r\u0085\u2028\u2029]/)
      expect(lines.filter((line) => line.startsWith('From:'))).toHaveLength(1)
      expect(lines.filter((line) => line.startsWith('What it is for:'))).toHaveLength(1)
    }
  })

  test('tells the person what is left of the budget', async () => {
    const client = clientOf(asking, '2026 over HTTP')
    answer = says.nothing

    await client.call('pay', anOrder())

    expect(client.shown[0]).toMatch(/\b1000 EUR\b/)
  })

  describe('in the stateless era', () => {
    const capable = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
    const send = async (
      input: object,
      more: Record<string, unknown> = {},
      headers: Record<string, string> = {},
    ) => {
      const message = aModernRequest('tools/call', {
        name: 'pay',
        arguments: input,
        ...more,
        _meta: capable,
      })
      const response = await fetch(site.url, {
        method: 'POST',
        headers: { ...toModernHeaders(message), ...headers },
        body: JSON.stringify(message),
      })
      return (await response.json()) as {
        result?: {
          resultType: string
          requestState: string
          inputRequests: Record<string, { method: string }>
          _meta: Record<string, { code: string }>
        }
        error?: { code: number; message: string }
      }
    }
    const yes = { inputResponses: { approval: says.yes } }

    test('is asked about in the result, with a state that says nothing to the client', async () => {
      const { result } = await send(anOrder())

      expect(result?.resultType).toBe('input_required')
      expect(Object.values(result?.inputRequests ?? {})).toMatchObject([
        { method: 'elicitation/create' },
      ])
      const pending = await fetch(new URL('/approvals', site.url))
      const [approval] = (await pending.json()) as { id: string }[]
      const parts = (result?.requestState ?? '').split('.')
      const readable = parts.map((part) => Buffer.from(part, 'base64url').toString()).join()
      expect(approval?.id).toBeDefined()
      expect(readable).not.toContain(approval?.id)
    })

    test('does not run on a state that was changed, cut, or made for other arguments', async () => {
      const [input, other] = [anOrder(), anOrder()]
      const { result } = await send(input)
      const state = result?.requestState ?? ''
      const middle = Math.floor(state.length / 2)
      const flipped = `${state.slice(0, middle)}${state[middle] === 'A' ? 'B' : 'A'}${state.slice(middle + 1)}`

      for (const [input_, requestState] of [
        [input, flipped],
        [input, state.slice(0, -4)],
        [input, ''],
        [other, state],
      ] as const) {
        const { error } = await send(input_, { ...yes, requestState })
        expect(error).toEqual({ code: -32602, message: 'Invalid or expired requestState' })
      }
      expect(timesRan(input) + timesRan(other)).toBe(0)
    })

    test('does not run on an answer that nobody asked for', async () => {
      const input = anOrder()

      const { result } = await send(input, yes)

      expect(result?.resultType).toBe('input_required')
      expect(timesRan(input)).toBe(0)
    })

    test('runs once however often the yes is sent', async () => {
      const input = anOrder()
      const { result } = await send(input)
      const again = { ...yes, requestState: result?.requestState }

      const answers = await Promise.all(Array.from({ length: 8 }, () => send(input, again)))
      await send(input, again)

      const failures = answers.map((one) => one.result?._meta?.[`${prefix}failure`]?.code)
      expect(failures.filter((code) => code === undefined)).toHaveLength(1)
      expect(timesRan(input)).toBe(1)
    })
  })
})

describe('the approvals over HTTP', () => {
  let site: Site
  const clients = new Map<string, DoorClient>()

  beforeAll(async () => {
    site = await Site.open({
      'drawbridge.yaml': `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  rules:
    - { match: transfer, approvers: others }
    - { match: close_books, approvers: [cfo] }
${httpWithTokens(
  { subject: 'ann', scopes: ['approvals:decide'] },
  { subject: 'bob', scopes: [] },
  { subject: 'cfo', scopes: ['approvals:*'] },
)}`,
      'tools/all.ts': countingTools(pay, { name: 'transfer' }, { name: 'close_books' }),
    })
    await site.serve()
    for (const subject of ['ann', 'bob', 'cfo'])
      clients.set(
        subject,
        await site.connect('2026 over HTTP', {
          headers: asBearer(subject),
          person: () => says.yes,
        }),
      )
    return () => site.close()
  })

  const as = (subject: string): DoorClient => {
    const client = clients.get(subject)
    if (!client) throw new Error(`nobody called ${subject}`)
    return client
  }

  const visit = async (path: string, who: string | undefined, init: RequestInit = {}) => {
    const headers = { ...(who && asBearer(who)), ...(init.headers as Record<string, string>) }
    const response = await fetch(new URL(path, site.url), { ...init, headers })
    const body = (await response.json()) as Record<string, unknown>
    return { status: response.status, headers: response.headers, body }
  }
  const decide = (id: string, who: string | undefined, decision: string) =>
    visit(`/approvals/${id}`, who, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ decision }),
    })

  let input: { order: string }
  let id: string

  beforeEach(async () => {
    input = anOrder()
    const { verdict, details } = await as('bob').call('transfer', input)
    expect(verdict).toBe('approval_required')
    id = String(details.approval)
  })

  const ranNow = () => site.ran().filter((one) => one.input.order === input.order).length

  test('let somebody with the scope see what waits and say yes, and the call then runs once', async () => {
    const list = await visit('/approvals', 'ann')
    const one = await visit(`/approvals/${id}`, 'ann')
    const decided = await decide(id, 'ann', 'approve')

    expect(list).toMatchObject({ status: 200 })
    expect(list.body).toContainEqual(expect.objectContaining({ id, capability: 'transfer' }))
    expect(one).toMatchObject({
      status: 200,
      body: {
        id,
        caller: 'bob',
        state: 'pending',
        shown: { arguments: expect.stringContaining(input.order) },
      },
    })
    expect(decided).toMatchObject({ status: 200, body: { state: 'approved', decidedBy: 'ann' } })
    const calls = await Promise.all([1, 2, 3].map(() => as('bob').call('transfer', input)))
    expect(calls.filter(({ verdict }) => verdict === 'done')).toHaveLength(1)
    expect(ranNow()).toBe(1)
  })

  test('let somebody with the scope say no', async () => {
    expect(await decide(id, 'ann', 'deny')).toMatchObject({ status: 200 })

    expect(await as('bob').call('transfer', input)).toMatchObject({ verdict: 'approval_denied' })
    expect(ranNow()).toBe(0)
  })

  test('are closed to those without the scope, and say which one it takes', async () => {
    for (const answer of [
      await visit('/approvals', 'bob'),
      await visit(`/approvals/${id}`, 'bob'),
      await decide(id, 'bob', 'approve'),
    ]) {
      expect(answer.status).toBe(403)
      expect(answer.headers.get('www-authenticate')).toContain('scope="approvals:decide"')
      expect(JSON.stringify(answer.body)).not.toContain(input.order)
    }
    expect(await decide(id, undefined, 'approve')).toMatchObject({ status: 401 })
    expect(await as('bob').call('transfer', input)).toMatchObject({ verdict: 'approval_required' })
    expect(ranNow()).toBe(0)
  })

  test('are open to those whose scope covers the one it takes', async () => {
    expect(await visit('/approvals', 'cfo')).toMatchObject({ status: 200 })
  })

  test('refuse the caller where somebody else has to decide', async () => {
    const own = anOrder()
    const asked = await as('ann').call('transfer', own)

    const decided = await decide(String(asked.details.approval), 'ann', 'approve')

    expect(as('ann').shown).toEqual([])
    expect(decided.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(decided.body)).toContain('another person')
    expect(await as('ann').call('transfer', own)).toMatchObject({ verdict: 'approval_required' })
    expect(site.ran().filter((one) => one.input.order === own.order)).toEqual([])
  })

  test('refuse everybody but those whom policy names', async () => {
    const own = anOrder()
    const asked = await as('bob').call('close_books', own)

    const decided = await decide(String(asked.details.approval), 'ann', 'approve')

    expect(decided.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(decided.body)).toContain('cfo')
    expect(await as('bob').call('close_books', own)).toMatchObject({ verdict: 'approval_required' })
    const terminal = await site.run('approvals', 'approve', String(asked.details.approval))
    expect(terminal.code).toBe(1)
  })

  test('are good for the one who asked and for nobody else', async () => {
    await decide(id, 'ann', 'approve')

    expect(await as('cfo').call('transfer', input)).toMatchObject({ verdict: 'approval_required' })
    expect(ranNow()).toBe(0)
  })

  test('are decided once', async () => {
    await decide(id, 'ann', 'deny')

    const second = await decide(id, 'ann', 'approve')

    expect(second).toMatchObject({ status: 409 })
    expect(await as('bob').call('transfer', input)).toMatchObject({ verdict: 'approval_denied' })
  })

  test('do not take a yes from a web page, a form or a mistake', async () => {
    const post = (headers: Record<string, string>, body: string) =>
      visit(`/approvals/${id}`, 'ann', { method: 'POST', headers, body })
    const json = { 'content-type': 'application/json' }

    expect(await post({ 'content-type': 'text/plain' }, '{"decision":"approve"}')).toMatchObject({
      status: 415,
    })
    expect(
      await post({ ...json, origin: 'https://evil.example' }, '{"decision":"approve"}'),
    ).toMatchObject({ status: 403 })
    for (const body of ['', '{}', '[]', '{"decision":"yes"}', '{"decision":true}', '"approve"'])
      expect(await post(json, body)).toMatchObject({ status: 400 })
    expect(await decide('no-such-id', 'ann', 'approve')).toMatchObject({ status: 404 })
    expect(await visit(`/approvals/${id}`, 'ann')).toMatchObject({ body: { state: 'pending' } })
  })
})
