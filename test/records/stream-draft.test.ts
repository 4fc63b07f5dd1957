import { expect, test } from 'vitest'
import { aProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

async function aDraft(name: string, content: string) {
  const cwd = await aProject({ [name]: content })
  const { stdout, ...rest } = await drawbridge(['records', 'streams', name], { cwd })
  return { ...rest, draft: stdout === '' ? undefined : JSON.parse(stdout).streams.records }
}

test('numeric CSV columns become numbers, and identifiers made of digits stay text', async () => {
  const { draft } = await aDraft(
    'tx.csv',
    'id,amount,paid,zip,iban\n1,-12.50,true,02134,12345678901234567890\n2,3,false,80331,2\n',
  )

  const types = Object.entries(draft.schema.properties as Record<string, { type: string }>)
  expect(types.map(([name, { type }]) => [name, type])).toEqual([
    ['id', 'integer'],
    ['amount', 'number'],
    ['paid', 'boolean'],
    ['zip', 'string'],
    ['iban', 'string'],
  ])
  expect(draft.query.aggregations.sum).toEqual(['amount'])
})

test('records without an id get a primary key of all columns, reported as a guess', async () => {
  const { draft, stderr } = await aDraft(
    'bank.csv',
    'date;payee;amount\n2026-01-02;baker;2.5\n2026-01-02;baker;3.5\n2026-01-03;baker;2.5\n',
  )

  expect(draft.primary_key).toEqual(['date', 'payee', 'amount'])
  expect(stderr).toContain('primary_key is a guess: date, payee, amount')
})

test('a file without a valid record gives no draft, and the reason is reported', async () => {
  const { code, stderr, draft } = await aDraft('mail.ndjson', 'nothing\n')

  expect(code).toBe(2)
  expect(stderr).toContain(
    'mail.ndjson has no record to draft a stream from: line 1: not valid JSON',
  )
  expect(draft).toBeUndefined()
})
