// The API of workshop.yaml, on port 4749. Drawbridge knows it by its document alone.
import { createServer } from 'node:http'

const key = process.env.WORKSHOP_KEY
const bicycles = new Map(
  ['F-1', 'F-2', 'F-3'].map((frame) => [frame, { frame, state: 'waiting', repairs: [] }]),
)

const server = createServer(async (request, response) => {
  const answer = (status, body, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
  if (request.headers['x-workshop-key'] !== key) return answer(401, { message: 'Wrong key.' })
  const { pathname, searchParams } = new URL(request.url, 'http://127.0.0.1:4749')
  const [, , , frame, action] = pathname.split('/').map(decodeURIComponent)
  if (frame === undefined) return answer(200, ...listPage(searchParams))
  const bicycle = bicycles.get(frame)
  if (!bicycle) return answer(404, { message: `No bicycle has the frame number ${frame}.` })
  if (request.method === 'DELETE') {
    bicycles.delete(frame)
    return response.writeHead(204).end()
  }
  if (action !== 'repairs') return answer(200, bicycle)
  const { part } = JSON.parse(Buffer.concat(await request.toArray()).toString())
  bicycle.repairs.push(part)
  answer(201, { ordered: part }, { location: `${pathname}/${bicycle.repairs.length}` })
})

function listPage(query) {
  const limit = Number(query.get('limit') ?? 2)
  const all = [...bicycles.values()].filter(
    ({ state }) => !query.has('state') || state === query.get('state'),
  )
  const start = all.findIndex(({ frame }) => frame === query.get('after')) + 1
  const page = all.slice(start, start + limit)
  const hasMore = start + limit < all.length
  return [page, hasMore ? { link: `</v1/bicycles?after=${page.at(-1).frame}>; rel="next"` } : {}]
}

server.listen(4749, '127.0.0.1')
