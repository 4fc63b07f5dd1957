import { floor } from './floor.mjs'

const answer = floor(Number(process.argv[2]))
let incompleteLine = ''

process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (incompleteLine + chunk).split('\n')
  incompleteLine = lines.pop()
  for (const line of lines) {
    const text = answer(line)
    if (text !== undefined) process.stdout.write(`${text}\n`)
  }
})
