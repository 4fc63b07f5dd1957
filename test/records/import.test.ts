import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BackgroundWriter, importRecords } from '../../src/runtime/owner-store.ts'
import { aProject } from '../support/a-project.ts'
import { aMessage, aRecordStore, messages } from '../support/a-record-store.ts'

test('what an interrupted import has set aside is still there when a second one has gone on', async () => {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', [])
  const file = path.join(await aProject({}), 'mail.ndjson')
  const lines = Array.from({ length: 6000 }, (_, number) => JSON.stringify(aMessage(number)))
  lines[10] = 'not JSON'
  lines[20] = '{"author":"nobody"}'
  lines[5000] = '[]'
  await writeFile(file, lines.join('\n'))
  const background = new BackgroundWriter(store.file)
  onTestFinished(() => background.close())
  const run = (onProgress: () => void) =>
    importRecords({
      writer: store.writer,
      background,
      source,
      file,
      now: Date.now,
      onProgress,
      onRejected: () => {},
    })

  const interrupted = run(() => {
    throw new Error('The power is gone.')
  })
  await expect(interrupted).rejects.toThrow('The power is gone.')
  const second = await run(() => {})

  expect(second).toMatchObject({ rejected: 1, aside: `${file}.rejected` })
  expect(second.skipped).toBeGreaterThan(1000)
  expect(await readFile(`${file}.rejected`, 'utf8')).toBe('not JSON\n{"author":"nobody"}\n[]\n')
  expect(store.writer.count(source)).toBe(5997)
})
