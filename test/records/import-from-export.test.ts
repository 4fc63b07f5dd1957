import path from 'node:path'
import { expect, test } from 'vitest'
import { put } from '../support/a-project.ts'
import { aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { drawbridge } from '../support/run-cli.ts'

test('an import from a full export takes only the requested stream and connection', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  store.put(
    messages(),
    'home',
    someMessages(5, () => ({ author: 'me' })),
  )
  store.put(messages('mail', 'letters'), 'home', someMessages(7))
  const cwd = path.dirname(store.file)
  const { stdout } = await drawbridge(['records', 'export', '--store', store.file], { cwd })
  await put(path.join(cwd, 'all.ndjson'), stdout)
  const importInto = (stream: string, connection: string) => {
    const options = [
      '--store',
      store.file,
      '--stream',
      stream,
      '--connection',
      connection,
      '--again',
    ]
    return drawbridge(['records', 'import', 'all.ndjson', ...options], { cwd })
  }

  const same = await importInto('messages', 'work')
  const renamed = await importInto('letters', 'copy')
  const absent = await importInto('messages', 'nowhere')

  const omitted = 'lines of other streams or connections left out'
  expect(same.stdout).toContain(`0 added, 0 changed, 0 removed, 3 unchanged, 12 ${omitted}`)
  expect(renamed.stdout).toContain(`letters of copy: 7 added, 0 changed, 0 removed, 0 unchanged`)
  expect(absent).toMatchObject({ code: 2, stdout: '' })
  expect(absent.stderr).toContain(
    'all.ndjson contains home/letters, home/messages, work/messages, but not nowhere/messages.',
  )
  expect(store.writer.sources.map(({ connection }) => connection.id)).not.toContain('nowhere')
})
