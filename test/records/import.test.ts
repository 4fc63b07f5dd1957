import { readFile, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { importRecords } from '../../src/runtime/records/import-records.ts'
import { readLines } from '../../src/sources/records/import/read-lines.ts'
import { aProject } from '../support/a-project.ts'
import { aMessage, aReader, aRecordStore, aStream, messages } from '../support/a-record-store.ts'

test('lines rejected by an interrupted import are kept when a second run resumes', async () => {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', [])
  const file = path.join(await aProject({}), 'mail.ndjson')
  const lines = Array.from({ length: 6000 }, (_, number) => JSON.stringify(aMessage(number)))
  lines[10] = 'not JSON'
  lines[20] = '{"author":"nobody"}'
  lines[5000] = '[]'
  await writeFile(file, lines.join('\n'))
  const run = (onProgress: () => void) =>
    importRecords({
      writer: store.writer,
      store: store.file,
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

async function anImport(name: string, content: string | Buffer, stream = numbers()) {
  const store = await aRecordStore()
  const source = store.put(stream, 'work', [])
  const file = path.join(await aProject({}), name)
  await writeFile(file, content)
  const faults: [number, string][] = []
  const run = async (options: object = {}) => {
    return importRecords({
      writer: store.writer,
      store: store.file,
      source,
      file,
      now: Date.now,
      onProgress: () => {},
      onRejected: (line, fault) => faults.push([line, fault]),
      ...options,
    })
  }
  const bodies = () => [...store.writer.export(source)].map(({ body }) => JSON.parse(body))
  return { store, source, file, faults, run, bodies }
}

const numbers = () =>
  aStream('numbers', {
    primary_key: 'id',
    schema: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        name: { type: 'string' },
        size: { type: 'number' },
      },
    },
  })

test('integers beyond the safe range are rejected with their field, and no two records merge', async () => {
  const lines = [
    '{"id":1234567890123456781}',
    '{"id":1234567890123456782}',
    '{"id":1,"name":"1234567890123456781"}',
    '{"id":2,"size":0.12345678901234567}',
    '{"id":3,"more":{"deep":[-9007199254740993]}}',
    '{"id":9007199254740991}',
    '{"id":10000000000000000000000000000000001}',
  ]
  const { faults, run, bodies } = await anImport('numbers.ndjson', lines.join('\n'))

  expect(await run()).toMatchObject({ added: 3, rejected: 4 })

  const fault = 'has an integer too large to be stored exactly: write it as a string'
  expect(faults).toEqual([
    [1, `id ${fault}`],
    [2, `id ${fault}`],
    [5, `more ${fault}`],
    [7, `id ${fault}`],
  ])
  expect(bodies().map(({ id }) => id)).toEqual([1, 2, 9007199254740991])
})

test('a CSV file is parsed with leading empty cells, inner quotes and line breaks in cells', async () => {
  const table = [
    '\ufeff,name,id,size',
    '0,5" disk,1,2.5',
    ',"say ""hi"",\r\nbye",2,',
    '2,,3, ',
    '3,x,4,Infinity',
    '4,"x"y,5,1',
    '5,"",6,0x10',
    '6,é,7,1e3',
    '7,short',
    '',
    '8,"never closed,8,1',
  ].join('\r\n')
  const { faults, run, bodies } = await anImport('table.csv', table)

  await run()

  expect(bodies()).toEqual([
    { name: '5" disk', id: 1, size: 2.5 },
    { name: 'say "hi",\r\nbye', id: 2 },
    { id: 3, size: ' ' },
    { name: 'x', id: 4, size: 'Infinity' },
    { id: 6, size: '0x10' },
    { name: 'é', id: 7, size: 1000 },
  ])
  expect(faults).toEqual([
    [7, 'there is text after the closing quote of a cell'],
    [10, 'the row has 2 cells, but the header has 4'],
    [
      12,
      'the quote opened in line 12 is never closed: this row includes everything up to the end of the file, line 12',
    ],
  ])
})

test('an unclosed quote loses one overlong row, and the rows after it are read', async () => {
  const line = `${'x'.repeat(1023)}\n`
  const { faults, run, bodies } = await anImport(
    'table.csv',
    `id,name\n1,"${line.repeat(16 * 1024 + 300)}2,good\n`,
  )

  await run()

  expect(faults[0]).toEqual([2, 'the row is too long: the quote opened in line 2 is not closed'])
  expect(bodies()).toEqual([{ id: 2, name: 'good' }])
})

test('an unclosed quote is reported with its line, and everything after it is rejected', async () => {
  const table = 'id,name\n1,one\n2,"two\nlines",\n3,"three\n4,four\n5,five\n'
  const { file, faults, run, bodies } = await anImport('table.csv', table)

  expect(await run()).toMatchObject({ added: 1, rejected: 2, aside: `${file}.rejected` })

  expect(faults).toEqual([
    [3, 'the row has 3 cells, but the header has 2'],
    [
      5,
      'the quote opened in line 5 is never closed: this row includes everything up to the end of the file, line 7',
    ],
  ])
  expect(bodies()).toEqual([{ id: 1, name: 'one' }])
  expect(await readFile(`${file}.rejected`, 'utf8')).toContain('3,"three\n4,four\n5,five\n')
})

test('a CSV file with a duplicate column name is refused, and columns without a name are ignored', async () => {
  const duplicated = await anImport('twice.csv', 'id,name,size,name\n1,a,2,b\n')
  const unnamed = await anImport('nameless.csv', ',id,\n0,1,x\n')

  await expect(duplicated.run()).rejects.toThrow('has two columns named "name"')
  await unnamed.run()

  expect(duplicated.bodies()).toEqual([])
  expect(unnamed.bodies()).toEqual([{ id: 1 }])
})

test('numbers and texts that cannot be stored exactly are rejected with their field', async () => {
  const lines = [
    '{"id":1,"size":1e400}',
    '{"id":2,"more":[{"deep":-1e999}]}',
    '{"id":3,"name":"cut\\u0000here"}',
    '{"id":4,"other":"kept\\u0000whole"}',
    '{"object":"record","id":"4\\u0000","deleted":true}',
  ]
  const { faults, run, bodies } = await anImport('numbers.ndjson', lines.join('\n'))
  const array = await anImport('numbers.json', `[${lines.slice(0, 2).join(',')},{"id":5}]`)

  await run()
  await array.run()

  const tooLarge = 'has a number too large to be stored: write it as a string'
  expect(faults).toEqual([
    [1, `size ${tooLarge}`],
    [2, `more ${tooLarge}`],
    [3, 'name contains a NUL character (\\u0000), which would truncate it in the database'],
    [5, 'id contains a NUL character or an unpaired surrogate'],
  ])
  expect(bodies()).toEqual([{ id: 4, other: 'kept\0whole' }])
  expect(array.faults.map(([line]) => line)).toEqual([1, 2])
  expect(array.bodies()).toEqual([{ id: 5 }])
})

test('values not of the declared type are kept and reported by field, count and line', async () => {
  const lines = [
    '{"id":1,"name":"a","size":1.5}',
    '{"id":2,"name":7,"size":null}',
    '{"id":3,"size":"12"}',
    '{"id":4,"size":[1]}',
  ]
  const { run, bodies } = await anImport('numbers.ndjson', lines.join('\n'))

  expect(await run()).toMatchObject({
    added: 4,
    misfits: [
      { field: 'name', type: 'string', count: 1, line: 2 },
      { field: 'size', type: 'number', count: 2, line: 3 },
    ],
  })

  expect(bodies()).toEqual(lines.map((line) => JSON.parse(line)))
})

test('several operations on one record in a batch are applied one after another', async () => {
  const { store, source, run } = await anImport(
    'mail.ndjson',
    [
      aMessage(0),
      aMessage(1, { body: 'first' }),
      aMessage(1, { body: 'second' }),
      { object: 'record', id: 'm2', deleted: true },
      aMessage(2, { body: 'third' }),
      { object: 'record', id: 'm2', deleted: true },
      aMessage(2, { body: 'fourth' }),
      { object: 'record', id: 'm0', deleted: true },
      aMessage(1, { body: 'fifth' }),
    ]
      .map((line) => JSON.stringify(line))
      .join('\n'),
    messages(),
  )
  store.put(messages(), 'work', [aMessage(0, { body: 'before' })])

  expect(await run()).toMatchObject({ added: 3, changed: 3, removed: 2, same: 1 })

  const bodies = [...store.writer.export(source)].map(({ body }) => JSON.parse(body).body)
  expect(bodies).toEqual(['fifth', 'fourth'])
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  const hits = async (q: string) => ((await reader.call('search', { q })).data.results as []).length
  for (const word of ['before', 'first', 'second', 'third']) expect(await hits(word)).toBe(0)
  for (const word of ['fourth', 'fifth']) expect(await hits(word)).toBe(1)
})

test('a line over 16 MB is rejected with its beginning, and the lines after it are read', async () => {
  const longLine = Buffer.alloc(17 * 1024 * 1024, 'x')
  const { file, faults, run, bodies } = await anImport(
    'numbers.ndjson',
    Buffer.concat([Buffer.from('{"id":1}\n'), longLine, Buffer.from('\n{"id":2}\n')]),
  )

  await run()

  expect(faults).toEqual([[2, 'the line is longer than 16 MB']])
  expect(bodies()).toEqual([{ id: 1 }, { id: 2 }])
  expect(await readFile(`${file}.rejected`, 'utf8')).toBe(`${'x'.repeat(1000)}\n`)
})

test('a JSON array too large for memory is refused with the advice to use NDJSON', async () => {
  const file = path.join(await aProject({ 'large.json': ' [{"id":1}' }), 'large.json')
  await truncate(file, 501 * 1024 * 1024)

  const read = () => readLines(file, (_, text) => text).next()

  expect(read).toThrow('Write it as NDJSON: one record in each line.')
})

test('a deleted record is imported from the same file only with the again option', async () => {
  const { store, source, run, bodies } = await anImport('numbers.ndjson', '{"id":1}\n{"id":2}\n')
  await run()
  store.remove(source, '1')

  expect(await run()).toMatchObject({ added: 0, skipped: 2 })
  expect(await run({ again: true })).toMatchObject({ added: 1, same: 1, skipped: 0 })

  expect(bodies().map(({ id }) => id)).toEqual(expect.arrayContaining([1, 2]))
})

test('records with NUL, unpaired surrogates in ids or excessive nesting are rejected individually', async () => {
  const deep = `{"id":"deep","d":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const lines = ['{"id":"n\\u0000a"}', '{"id":"n\\ud800"}', deep, '{"id":"n"}']
  const { faults, run, bodies } = await anImport('odd.ndjson', lines.join('\n'))

  await run()

  const invalidCharacter = 'id contains a NUL character or an unpaired surrogate'
  expect(faults).toEqual([
    [1, invalidCharacter],
    [2, invalidCharacter],
    [3, 'the record is nested too deeply'],
  ])
  expect(bodies()).toEqual([{ id: 'n' }])
})

test('semicolon and tab delimiters are detected in CSV and TSV files', async () => {
  const european = await anImport('bank.csv', 'id;name;size\r\n1;"a; b";2.5\r\n2;c, d;"1,5"\r\n')
  const tabSeparated = await anImport('copied.tsv', 'id\tname\n1\ta,b;c\n')
  const quoted = await anImport('quoted.csv', '"id","na;me"\n1,x;y\n')

  await Promise.all([european.run(), tabSeparated.run(), quoted.run()])

  expect(european.bodies()).toEqual([
    { id: 1, name: 'a; b', size: 2.5 },
    { id: 2, name: 'c, d', size: '1,5' },
  ])
  expect(tabSeparated.bodies()).toEqual([{ id: 1, name: 'a,b;c' }])
  expect(quoted.bodies()).toEqual([{ id: 1, 'na;me': 'x;y' }])
})

test('lines that are not valid UTF-8 are rejected by line, never stored altered', async () => {
  const toLatin1 = (text: string) => Buffer.from(text, 'latin1')
  const table = await anImport('table.csv', toLatin1('id,name\n1,plain\n2,Müller\n3,plain\n'))
  const lines = await anImport('lines.ndjson', toLatin1('{"id":1,"name":"Zoë"}\n{"id":2}\n'))
  const array = await anImport('array.json', toLatin1('[{"id":1,"name":"Zoë"}]'))
  const wide = await anImport('wide.csv', Buffer.from('\ufeffid,name\n1,a\n', 'utf16le'))
  const replacementCharacter = await anImport('marked.ndjson', '{"id":1,"name":"\ufffd"}\n')

  await Promise.all([table.run(), lines.run(), replacementCharacter.run()])
  await expect(array.run()).rejects.toThrow('array.json is not valid UTF-8')
  await expect(wide.run()).rejects.toThrow('the line is not valid UTF-8')

  expect(table.bodies().map(({ id }) => id)).toEqual([1, 3])
  expect(table.faults).toEqual([[3, expect.stringContaining('the line is not valid UTF-8')]])
  expect(lines.bodies()).toEqual([{ id: 2 }])
  expect(lines.faults).toEqual([[1, expect.stringContaining('the line is not valid UTF-8')]])
  expect(replacementCharacter.bodies()).toEqual([{ id: 1, name: '\ufffd' }])
})

test('a JSON object that wraps the records is refused with the name of the array property', async () => {
  const wrapped = await anImport('tx.json', '{\n "count": 1,\n "transactions": [{"id":1}]\n}')

  await expect(wrapped.run()).rejects.toThrow('Its property "transactions" is an array')

  expect(wrapped.faults).toEqual([])
})

test('a record with an invalid emitted_at is rejected', async () => {
  const line = (id: number, emitted_at: string) =>
    JSON.stringify({ object: 'record', id: String(id), data: { id }, emitted_at })
  const lines = [line(1, 'yesterday'), line(2, '2026-01-31T12:00:00+09:00')]
  const { faults, run, bodies } = await anImport('export.ndjson', lines.join('\n'))

  await run()

  expect(faults).toEqual([[1, 'emitted_at must be a time such as 2026-01-31T12:00:00Z']])
  expect(bodies()).toEqual([{ id: 2 }])
})
