import path from 'node:path'
import { expect, test } from 'vitest'
import { put } from '../support/a-project.ts'
import { aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { drawbridge } from '../support/run-cli.ts'

test('of an export of everything an import takes what is meant, and nothing else', async () => {
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
  const take = (stream: string, connection: string) => {
    const to = ['--store', store.file, '--stream', stream, '--connection', connection, '--again']
    return drawbridge(['records', 'import', 'all.ndjson', ...to], { cwd })
  }

  const same = await take('messages', 'work')
  const renamed = await take('letters', 'copy')
  const neither = await take('messages', 'nowhere')

  const left = 'lines of other streams or connections left out'
  expect(same.stdout).toContain(`0 added, 0 changed, 0 removed, 3 unchanged, 12 ${left}`)
  expect(renamed.stdout).toContain(`letters of copy: 7 added, 0 changed, 0 removed, 0 unchanged`)
  expect(neither).toMatchObject({ code: 2, stdout: '' })
  expect(neither.stderr).toContain(
    'all.ndjson contains home/letters, home/messages, work/messages, but not nowhere/messages.',
  )
  expect(store.writer.sources.map(({ connection }) => connection.id)).not.toContain('nowhere')
})
