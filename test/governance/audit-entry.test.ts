import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readOnly } from '../../src/capability/effects.ts'
import { done, type Outcome } from '../../src/capability/outcome.ts'
import { movesMoney } from '../support/a-payment.ts'
import { aCall, aCapability, aPipeline } from '../support/builders.ts'

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 })

const auditedCall = fc.record({
  id: text,
  subject: text,
  name: text,
  source: text,
  fingerprint: text,
  input: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 4 }),
  recordArguments: fc.boolean(),
  writes: fc.boolean(),
  cost: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }), { nil: undefined }),
  code: fc.option(text, { nil: undefined }),
})

test('the text of every entry is the JSON of its fields, whatever they contain', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(auditedCall, { minLength: 1, maxLength: 5 }), async (calls) => {
      const { govern, ledger } = aPipeline()
      const failed = (code: string): Outcome => ({
        kind: 'failed',
        failure: { code, fixedBy: 'model', message: 'No.', retryable: false },
      })
      for (const { id, subject, name, source, fingerprint, input, code, ...rest } of calls) {
        const { recordArguments, writes, cost } = rest
        const capability = aCapability({
          name,
          origin: { source, pointer: '' },
          effects: writes ? { ...movesMoney, repeatable: true } : readOnly,
          rules: {
            recordArguments,
            ...(cost !== undefined && { cost: { amount: cost, unit: 'x' } }),
          },
          invoke: async () => (code === undefined ? done({}) : failed(code)),
        })
        // Twice with one definition, once with another: its part of the text is kept between calls.
        for (const [turn, print] of [fingerprint, fingerprint, `${fingerprint}'`].entries())
          await govern(
            aCall({
              id: `${id}${turn}`,
              capability,
              caller: { subject, scopes: new Set() },
              fingerprint: print,
              input,
            }),
          )
      }
      await ledger.write(() => {})

      const lines = [...ledger.audit.blocks(0)].flatMap(({ lines }) => lines)
      const texts = lines.map((line) => line.slice(line.indexOf(' ') + 1))
      const ends = texts.map((line) => JSON.parse(line)).filter(({ event }) => event === 'end')

      expect(texts).toEqual(texts.map((line) => JSON.stringify(JSON.parse(line))))
      expect(ends).toEqual(
        calls.flatMap(({ id, subject, name, source, fingerprint, input, ...rest }) =>
          [fingerprint, fingerprint, `${fingerprint}'`].map((print, turn) =>
            expect.objectContaining({
              id: `${id}${turn}`,
              caller: subject,
              capability: name,
              source,
              fingerprint: print,
              outcome: rest.code === undefined ? 'done' : 'failed',
              ...(rest.code !== undefined && { code: rest.code }),
              ...(rest.recordArguments && { arguments: input }),
            }),
          ),
        ),
      )
      expect(Object.keys(ends[0] ?? {}).slice(0, 7)).toEqual([
        'event',
        'at',
        'id',
        'caller',
        'capability',
        'source',
        'fingerprint',
      ])
    }),
    { numRuns: process.env.SOAK === undefined ? 60 : 3000 },
  )
})
