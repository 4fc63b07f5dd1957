import path from 'node:path'
import { expect, test } from 'vitest'
import { readRequestStateKey } from '../../src/runtime/store/request-state-key.ts'
import { aProject } from '../support/a-project.ts'
import { Site } from '../support/a-site.ts'
import { aLedger } from '../support/builders.ts'
import { personAnswers } from '../support/client-kinds.ts'
import { countingTools } from '../support/counting-tools.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'

interface Answer {
  readonly result?: { readonly resultType: string; readonly requestState?: string }
  readonly error?: { readonly message: string }
}

async function call(url: string, order: string, more: Record<string, unknown> = {}) {
  const message = aModernRequest('tools/call', {
    name: 'pay',
    arguments: { order },
    ...more,
    _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } },
  })
  const response = await fetch(url, {
    method: 'POST',
    headers: toModernHeaders(message),
    body: JSON.stringify(message),
  })
  return (await response.json()) as Answer
}

const toAcceptance = ({ result }: Answer) => ({
  inputResponses: { approval: personAnswers.yes },
  requestState: result?.requestState,
})

test('a request state is accepted by a second server and after a restart, and allows one run', async () => {
  const site = await Site.open({
    'drawbridge.yaml': 'sources: [{ definitions: ./tools/*.ts }]\n',
    'tools/all.ts': countingTools({ name: 'pay', more: 'requiresConfirmation: true,' }),
  })
  try {
    // At the same time, on a new store: both create the key.
    const [first, second] = await Promise.all([site.serve(), site.serve()])

    const question = await call(first.url, 'a')
    const acceptances = [second, first, second].map(({ url }) =>
      call(url, 'a', toAcceptance(question)),
    )
    await Promise.all(acceptances)
    expect(site.runsOf('pay')).toHaveLength(1)

    const openQuestion = await call(first.url, 'b')
    await site.stop(first, 'SIGKILL')
    await site.stop(second)
    const restarted = await site.serve()
    const other = await call(restarted.url, 'c', toAcceptance(openQuestion))
    const accepted = await call(restarted.url, 'b', toAcceptance(openQuestion))

    expect(other.error?.message).toBe('Invalid or expired requestState')
    expect(accepted).toMatchObject({ result: { resultType: 'complete' } })
    expect(site.runsOf('pay').map(({ input }) => input.order)).toEqual(['a', 'b'])
  } finally {
    await site.close()
  }
})

test('all processes on a new store use the key of the first, and another store has another key', async () => {
  const folder = await aProject({})
  const [file, otherFile] = ['ledger.db', 'other.db'].map((name) => path.join(folder, name))
  const ledgers = [file, file, file, otherFile].map((one) => aLedger(one))
  const readKey = (ledger: (typeof ledgers)[number]) =>
    Buffer.from(readRequestStateKey(ledger, () => {})).toString('hex')

  const keys = ledgers.map(readKey)
  await Promise.all(ledgers.map((ledger) => ledger.close()))
  const reopened = aLedger(file)
  const later = readKey(reopened)
  await reopened.close()

  expect(new Set(keys.slice(0, 3))).toEqual(new Set([later]))
  expect(keys[3]).not.toBe(later)
  expect(later).toMatch(/^[0-9a-f]{64}$/)
})
