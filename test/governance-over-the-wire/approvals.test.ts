import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { atMost } from '../support/amount.ts'
import {
  clientKinds,
  type OfficialClient,
  type PersonAnswer,
  personAnswers,
  prefix,
} from '../support/client-kinds.ts'
import { countingTools } from '../support/counting-tools.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

const pay = {
  name: 'pay',
  description: 'Pays an invoice.',
  more: `requiresConfirmation: true, consequenceLevel: 'high', cost: { amount: 5, unit: 'EUR' },`,
}

/** A refusal without a person to ask must be immediate. */
const maxRefusalMs = atMost(1000)

let order = 0
const anOrder = () => ({ order: `order-${order++}` })

describe('a call that needs an approval', () => {
  let site: Site
  let answer: PersonAnswer
  const interactiveClients = new Map<string, OfficialClient>()
  const silentClients = new Map<string, OfficialClient>()

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
      clientKinds.flatMap((clientKind) => [
        site
          .connect(clientKind, { person: () => answer })
          .then((one) => interactiveClients.set(clientKind, one)),
        site.connect(clientKind).then((one) => silentClients.set(clientKind, one)),
      ]),
    )
    return () => site.close()
  })

  const clientOf = (clients: Map<string, OfficialClient>, clientKind: string): OfficialClient => {
    const client = clients.get(clientKind)
    if (!client) throw new Error(`no client for ${clientKind}`)
    client.shown.length = 0
    return client
  }
  const countRuns = (input: { order: string }) =>
    site.runsOf().filter((one) => one.input.order === input.order).length

  describe.each(clientKinds)('from a client of %s', (clientKind) => {
    test('runs once when the user accepts the elicitation', async () => {
      const client = clientOf(interactiveClients, clientKind)
      const input = anOrder()
      answer = personAnswers.yes

      const first = await client.call('pay', input)
      const repeated = await client.call('pay', input)

      expect(first).toMatchObject({ verdict: 'done', data: { done: input.order } })
      expect(repeated.verdict).toBe('possible_duplicate')
      expect(client.shown).toHaveLength(1)
      expect(countRuns(input)).toBe(1)
    })

    test('shows tool, origin, description, effects, arguments and cost', async () => {
      const client = clientOf(interactiveClients, clientKind)
      const input = anOrder()
      answer = personAnswers.no

      await client.call('pay', input)

      const [message = ''] = client.shown
      expect(message).toContain('pay')
      expect(message).toContain('./tools/*.ts')
      expect(message).toContain('Pays an invoice.')
      expect(message).toContain('makes a change that cannot be undone')
      expect(message).toContain(input.order)
      expect(message).toContain('5 EUR')
    })

    test('does not run after the user declines, and is not asked again', async () => {
      const client = clientOf(interactiveClients, clientKind)
      const input = anOrder()
      answer = personAnswers.no

      const first = await client.call('pay', input)
      const repeated = await client.call('pay', input)

      expect([first.verdict, repeated.verdict]).toEqual(['approval_denied', 'approval_denied'])
      expect(client.shown).toHaveLength(1)
      expect(countRuns(input)).toBe(0)
    })

    test('does not run when the form is accepted without approval', async () => {
      const client = clientOf(interactiveClients, clientKind)
      const input = anOrder()
      answer = { action: 'accept', content: { approve: false } }

      expect(await client.call('pay', input)).toMatchObject({ verdict: 'approval_denied' })
      expect(countRuns(input)).toBe(0)
    })

    test('stays pending when the user cancels the form', async () => {
      const client = clientOf(interactiveClients, clientKind)
      const input = anOrder()
      answer = personAnswers.nothing

      const cancelled = await client.call('pay', input)
      expect(cancelled).toMatchObject({
        verdict: 'approval_required',
        details: { approval: expect.any(String) },
      })
      expect(countRuns(input)).toBe(0)

      answer = personAnswers.yes
      expect(await client.call('pay', input)).toMatchObject({ verdict: 'done' })
      expect(countRuns(input)).toBe(1)
    })

    test('is refused at once without elicitation, and runs once after approval in a terminal', async () => {
      const client = clientOf(silentClients, clientKind)
      const input = anOrder()

      const startedAt = performance.now()
      const refused = await client.call('pay', input)
      const durationMs = performance.now() - startedAt
      const id = String(refused.details.approval)
      expect(refused.verdict).toBe('approval_required')
      expect(refused.text).toContain(`drawbridge approvals approve ${id}`)
      expect(refused.text).toMatch(/same call again/)
      expect(refused.meta.failure).toMatchObject({ retryable: true })
      expect(durationMs).toBeLessThan(maxRefusalMs)
      expect(countRuns(input)).toBe(0)

      const approved = await site.run('approvals', 'approve', id)
      expect(approved).toMatchObject({ code: 0, stderr: '' })

      const answers = await Promise.all(Array.from({ length: 5 }, () => client.call('pay', input)))
      const verdicts = answers.map(({ verdict }) => verdict)
      expect(verdicts.filter((verdict) => verdict === 'done')).toHaveLength(1)
      expect(countRuns(input)).toBe(1)
    })
  })

  test('an approval covers only its own arguments', async () => {
    const client = clientOf(silentClients, '2026 over HTTP')
    const [input, otherInput] = [anOrder(), anOrder()]
    const { details } = await client.call('pay', input)
    await site.run('approvals', 'approve', String(details.approval))

    const otherOutcome = await client.call('pay', otherInput)

    expect(otherOutcome).toMatchObject({ verdict: 'approval_required' })
    expect(otherOutcome.details.approval).not.toBe(details.approval)
    expect(countRuns(otherInput)).toBe(0)
  })

  test('an approval is used once across servers that share a store', async () => {
    const input = anOrder()
    const { details } = await clientOf(silentClients, '2026 over HTTP').call('pay', input)
    await site.run('approvals', 'approve', String(details.approval))

    const answers = await Promise.all(
      clientKinds.flatMap((clientKind) =>
        [1, 2, 3].map(() => clientOf(silentClients, clientKind).call('pay', input)),
      ),
    )

    expect(answers.filter(({ verdict }) => verdict === 'done')).toHaveLength(1)
    expect(countRuns(input)).toBe(1)
  })

  test('is refused after a denial in a terminal', async () => {
    const client = clientOf(silentClients, '2026 over HTTP')
    const input = anOrder()
    const { details } = await client.call('pay', input)

    const denied = await site.run('approvals', 'deny', String(details.approval), '--as', 'bea')

    expect(denied.code).toBe(0)
    const repeated = await client.call('pay', input)
    expect(repeated.verdict).toBe('approval_denied')
    expect(repeated.text).toContain('bea')
    expect(countRuns(input)).toBe(0)
  })

  test('does not run when the client cancels while the form is open', async () => {
    for (const clientKind of ['2025 over HTTP', '2025 over stdio'] as const) {
      const controller = new AbortController()
      let decide: (answer: PersonAnswer) => void = () => {}
      const input = anOrder()
      const client = await site.connect(clientKind, {
        person: () => {
          controller.abort()
          return new Promise<PersonAnswer>((resolve) => {
            decide = resolve
          })
        },
      })

      await client.call('pay', input, { signal: controller.signal })
      decide(personAnswers.yes)

      // A late run would have been recorded before this answer.
      expect(await client.call('look', input)).toMatchObject({ verdict: 'done' })
      expect(site.runsOf('pay').filter((one) => one.input.order === input.order)).toEqual([])
    }
  })

  test('stays pending when the client fails to show the form', async () => {
    for (const clientKind of ['2025 over HTTP', '2025 over stdio'] as const) {
      const input = anOrder()
      const client = await site.connect(clientKind, {
        person: () => {
          throw new Error('no window to ask in')
        },
      })

      expect(await client.call('pay', input)).toMatchObject({ verdict: 'approval_required' })
      expect(countRuns(input)).toBe(0)
    }
  })

  test('is refused at once for a 2025 client without a session', async () => {
    const startedAt = performance.now()
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
    expect(performance.now() - startedAt).toBeLessThan(maxRefusalMs)
  })

  test('does not block other calls while the form is open', async () => {
    for (const clientKind of ['2025 over HTTP', '2025 over stdio'] as const) {
      let decide: (answer: PersonAnswer) => void = () => {}
      let notifyAsked: () => void = () => {}
      const formShown = new Promise<void>((resolve) => {
        notifyAsked = resolve
      })
      const client = await site.connect(clientKind, {
        person: () => {
          notifyAsked()
          return new Promise<PersonAnswer>((resolve) => {
            decide = resolve
          })
        },
      })
      const input = anOrder()

      const payment = client.call('pay', input)
      await formShown
      expect(await client.call('look', anOrder())).toMatchObject({ verdict: 'done' })
      decide(personAnswers.yes)

      expect(await payment).toMatchObject({ verdict: 'done' })
    }
  })

  test('shows control, bidirectional and zero-width characters escaped', async () => {
    const client = clientOf(interactiveClients, '2026 over HTTP')
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
    answer = personAnswers.nothing
    const input = { order: Object.values(hostile).join(' ') }

    const { details } = await client.call('pay', input)
    const id = String(details.approval)
    const terminal = await site.run('approvals', 'show', id)
    const page = await fetch(new URL(`/approvals/${id}`, site.url), { headers: site.asApprover() })

    const [message = ''] = client.shown
    for (const [output, text] of Object.entries({
      message,
      terminal: terminal.stdout,
      page: JSON.stringify(((await page.json()) as { shown: object }).shown),
    }))
      for (const [kind, characters] of Object.entries(hostile))
        for (const character of characters)
          if (/\p{C}/u.test(character))
            expect({ where: output, kind, found: text.includes(character) }).toEqual({
              where: output,
              kind,
              found: false,
            })
    expect(message).toContain('\\u{202e}gpj.exe')
    expect(message).toContain('\\u{200b}')
    expect(terminal.stdout).toContain('\\u{202e}gpj.exe')
  })

  test('arguments cannot forge lines of the approval message', async () => {
    const client = clientOf(interactiveClients, '2026 over HTTP')
    answer = personAnswers.nothing

    await client.call('pay', {
      order: 'x"\n}\nDescription: nothing\nFrom: somewhere safe',
    })
    await client.call('pay', { order: 'x"\u2028From: somewhere safe\u2029From: somewhere safe' })

    for (const message of client.shown) {
      // Every line terminator of Unicode.
      const lines = message.split(/[\n\v\f\r\u0085\u2028\u2029]/)
      expect(lines.filter((line) => line.startsWith('From:'))).toHaveLength(1)
      expect(lines.filter((line) => line.startsWith('Description:'))).toHaveLength(1)
    }
  })

  test('shows the remaining budget', async () => {
    const client = clientOf(interactiveClients, '2026 over HTTP')
    answer = personAnswers.nothing

    await client.call('pay', anOrder())

    expect(client.shown[0]).toMatch(/\b1000 EUR\b/)
  })

  describe('in the stateless protocol', () => {
    const withElicitation = {
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    }
    const send = async (
      input: object,
      extraParams: Record<string, unknown> = {},
      headers: Record<string, string> = {},
    ) => {
      const message = aModernRequest('tools/call', {
        name: 'pay',
        arguments: input,
        ...extraParams,
        _meta: withElicitation,
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
    const acceptance = { inputResponses: { approval: personAnswers.yes } }

    test('returns input_required with an opaque request state', async () => {
      const { result } = await send(anOrder())

      expect(result?.resultType).toBe('input_required')
      expect(Object.values(result?.inputRequests ?? {})).toMatchObject([
        { method: 'elicitation/create' },
      ])
      const pending = await fetch(new URL('/approvals', site.url), { headers: site.asApprover() })
      const [approval] = (await pending.json()) as { id: string }[]
      const parts = (result?.requestState ?? '').split('.')
      const readable = parts.map((part) => Buffer.from(part, 'base64url').toString()).join()
      expect(approval?.id).toBeDefined()
      expect(readable).not.toContain(approval?.id)
    })

    test('does not run on a request state that is changed, truncated or made for other arguments', async () => {
      const [input, other] = [anOrder(), anOrder()]
      const { result } = await send(input)
      const state = result?.requestState ?? ''
      const middle = Math.floor(state.length / 2)
      const flipped = `${state.slice(0, middle)}${state[middle] === 'A' ? 'B' : 'A'}${state.slice(middle + 1)}`

      for (const [sentInput, requestState] of [
        [input, flipped],
        [input, state.slice(0, -4)],
        [input, ''],
        [other, state],
      ] as const) {
        const { error } = await send(sentInput, { ...acceptance, requestState })
        expect(error).toEqual({ code: -32602, message: 'Invalid or expired requestState' })
      }
      expect(countRuns(input) + countRuns(other)).toBe(0)
    })

    test('does not run on an unsolicited answer', async () => {
      const input = anOrder()

      const { result } = await send(input, acceptance)

      expect(result?.resultType).toBe('input_required')
      expect(countRuns(input)).toBe(0)
    })

    test('runs once when the acceptance is sent repeatedly', async () => {
      const input = anOrder()
      const { result } = await send(input)
      const retry = { ...acceptance, requestState: result?.requestState }

      const answers = await Promise.all(Array.from({ length: 8 }, () => send(input, retry)))
      await send(input, retry)

      const failures = answers.map((one) => one.result?._meta?.[`${prefix}failure`]?.code)
      expect(failures.filter((code) => code === undefined)).toHaveLength(1)
      expect(countRuns(input)).toBe(1)
    })
  })
})

describe('the /approvals routes', () => {
  let site: Site
  const clients = new Map<string, OfficialClient>()

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
          person: () => personAnswers.yes,
        }),
      )
    return () => site.close()
  })

  const clientFor = (subject: string): OfficialClient => {
    const client = clients.get(subject)
    if (!client) throw new Error(`nobody called ${subject}`)
    return client
  }

  const request = async (path: string, subject: string | undefined, init: RequestInit = {}) => {
    const headers = {
      ...(subject && asBearer(subject)),
      ...(init.headers as Record<string, string>),
    }
    const response = await fetch(new URL(path, site.url), { ...init, headers })
    const body = (await response.json()) as Record<string, unknown>
    return { status: response.status, headers: response.headers, body }
  }
  const decide = (id: string, subject: string | undefined, decision: string) =>
    request(`/approvals/${id}`, subject, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ decision }),
    })

  let input: { order: string }
  let id: string

  beforeEach(async () => {
    input = anOrder()
    const { verdict, details } = await clientFor('bob').call('transfer', input)
    expect(verdict).toBe('approval_required')
    id = String(details.approval)
  })

  const runCount = () => site.runsOf().filter((one) => one.input.order === input.order).length

  test('let a caller with the scope list and approve, and the call then runs once', async () => {
    const listing = await request('/approvals', 'ann')
    const approval = await request(`/approvals/${id}`, 'ann')
    const decision = await decide(id, 'ann', 'approve')

    expect(listing).toMatchObject({ status: 200 })
    expect(listing.body).toContainEqual(expect.objectContaining({ id, capability: 'transfer' }))
    expect(approval).toMatchObject({
      status: 200,
      body: {
        id,
        caller: 'bob',
        state: 'pending',
        shown: { arguments: expect.stringContaining(input.order) },
      },
    })
    expect(decision).toMatchObject({ status: 200, body: { state: 'approved', decidedBy: 'ann' } })
    const calls = await Promise.all([1, 2, 3].map(() => clientFor('bob').call('transfer', input)))
    expect(calls.filter(({ verdict }) => verdict === 'done')).toHaveLength(1)
    expect(runCount()).toBe(1)
  })

  test('let a caller with the scope deny', async () => {
    expect(await decide(id, 'ann', 'deny')).toMatchObject({ status: 200 })

    expect(await clientFor('bob').call('transfer', input)).toMatchObject({
      verdict: 'approval_denied',
    })
    expect(runCount()).toBe(0)
  })

  test('refuse a caller without the scope with 403 and name the scope', async () => {
    for (const answer of [
      await request('/approvals', 'bob'),
      await request(`/approvals/${id}`, 'bob'),
      await decide(id, 'bob', 'approve'),
    ]) {
      expect(answer.status).toBe(403)
      expect(answer.headers.get('www-authenticate')).toContain('scope="approvals:decide"')
      expect(JSON.stringify(answer.body)).not.toContain(input.order)
    }
    expect(await decide(id, undefined, 'approve')).toMatchObject({ status: 401 })
    expect(await clientFor('bob').call('transfer', input)).toMatchObject({
      verdict: 'approval_required',
    })
    expect(runCount()).toBe(0)
  })

  test('accept a wildcard scope', async () => {
    expect(await request('/approvals', 'cfo')).toMatchObject({ status: 200 })
  })

  test('refuse self-approval with approvers "others"', async () => {
    const ownInput = anOrder()
    const pendingCall = await clientFor('ann').call('transfer', ownInput)

    const decision = await decide(String(pendingCall.details.approval), 'ann', 'approve')

    expect(clientFor('ann').shown).toEqual([])
    expect(decision.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(decision.body)).toContain('another person')
    expect(await clientFor('ann').call('transfer', ownInput)).toMatchObject({
      verdict: 'approval_required',
    })
    expect(site.runsOf().filter((one) => one.input.order === ownInput.order)).toEqual([])
  })

  test('refuse callers that are not named approvers', async () => {
    const ownInput = anOrder()
    const pendingCall = await clientFor('bob').call('close_books', ownInput)

    const decision = await decide(String(pendingCall.details.approval), 'ann', 'approve')

    expect(decision.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(decision.body)).toContain('cfo')
    expect(await clientFor('bob').call('close_books', ownInput)).toMatchObject({
      verdict: 'approval_required',
    })
    const terminal = await site.run('approvals', 'approve', String(pendingCall.details.approval))
    expect(terminal.code).toBe(1)
  })

  test('an approval is valid only for the caller that asked', async () => {
    await decide(id, 'ann', 'approve')

    expect(await clientFor('cfo').call('transfer', input)).toMatchObject({
      verdict: 'approval_required',
    })
    expect(runCount()).toBe(0)
  })

  test('a second decision is a conflict', async () => {
    await decide(id, 'ann', 'deny')

    const second = await decide(id, 'ann', 'approve')

    expect(second).toMatchObject({ status: 409 })
    expect(await clientFor('bob').call('transfer', input)).toMatchObject({
      verdict: 'approval_denied',
    })
  })

  test('reject other content types, foreign origins and invalid bodies', async () => {
    const post = (headers: Record<string, string>, body: string) =>
      request(`/approvals/${id}`, 'ann', { method: 'POST', headers, body })
    const json = { 'content-type': 'application/json' }

    for (const type of ['text/plain', 'application/json-patch+json', 'application/jsonx'])
      expect(await post({ 'content-type': type }, '{"decision":"approve"}')).toMatchObject({
        status: 415,
      })
    expect(
      await post({ ...json, origin: 'https://evil.example' }, '{"decision":"approve"}'),
    ).toMatchObject({ status: 403 })
    for (const body of ['', '{}', '[]', '{"decision":"yes"}', '{"decision":true}', '"approve"'])
      expect(await post(json, body)).toMatchObject({ status: 400 })
    expect(await decide('no-such-id', 'ann', 'approve')).toMatchObject({ status: 404 })
    expect(await request(`/approvals/${id}`, 'ann')).toMatchObject({ body: { state: 'pending' } })
  })
})
