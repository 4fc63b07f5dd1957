import { floor } from './floor.mjs'

const answer = floor(Number(process.argv[2]))
let rest = ''

process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const text = answer(line)
    if (text !== undefined) process.stdout.write(`${text}\n`)
  }
})
