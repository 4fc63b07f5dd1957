import { createServer } from 'node:http'
import { floor } from './floor.mjs'

const [tools, port] = process.argv.slice(2).map(Number)
const answer = floor(tools)

createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const text = answer(body.toString())
    if (text === undefined) return response.writeHead(202).end()
    response
      .writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      })
      .end(text)
  })
}).listen(port, '127.0.0.1')
