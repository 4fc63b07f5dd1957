import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { serviceSource } from '../../src/index.ts'
import { type Actions, anAction, aService } from '../support/a-service.ts'
import { Latch } from '../support/latch.ts'
import { aModernRequest, postMessage, toModernHeaders } from '../support/modern-request.ts'
import { aModernClient } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'
import { spawnServer } from '../support/spawn-server.ts'
import { asBearer } from '../support/tokens.ts'
import { framesOf } from '../support/wire.ts'

const listen = { notifications: { toolsListChanged: true } }

test('latency from an emission to the client is under 50 ms at p99, in process and over HTTP', async () => {
  const { service, actions } = aService({ actions: {} })
  const { bridge, url } = await serveHere({ sources: [serviceSource(service)] })
  let emittedAtMs = 0
  const latenciesMs = { 'in process': [] as number[], 'over HTTP': [] as number[] }
  const client = await aModernClient(url)
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    latenciesMs['over HTTP'].push(performance.now() - emittedAtMs)
  })
  await client.listen({ toolsListChanged: true })
  const abortController = new AbortController()
  const message = aModernRequest('subscriptions/listen', listen)
  const stream = await bridge.fetch(
    new Request(url, {
      method: 'POST',
      headers: toModernHeaders(message),
      body: JSON.stringify(message),
      signal: abortController.signal,
    }),
  )
  const reading = (async () => {
    for await (const { data } of framesOf(stream))
      if (data.includes('list_changed'))
        latenciesMs['in process'].push(performance.now() - emittedAtMs)
  })().catch(() => {})

  const changeCount = 120
  for (let time = 0; time < changeCount; time++) {
    emittedAtMs = performance.now()
    actions.set({ [`a${time}`]: anAction() })
    await sleep(150)
  }
  await expect.poll(() => latenciesMs['over HTTP'].length).toBe(changeCount)
  abortController.abort()
  await Promise.race([reading, sleep(100)])

  for (const [transport, latencies] of Object.entries(latenciesMs)) {
    const sortedMs = latencies.toSorted((a, b) => a - b)
    const percentile = (share: number) =>
      sortedMs[Math.floor(share * (sortedMs.length - 1))] ?? Number.NaN
    console.info(
      `${transport}: p50 ${percentile(0.5).toFixed(1)} ms, p99 ${percentile(0.99).toFixed(1)} ms`,
    )
    expect(latencies).toHaveLength(changeCount)
    expect(percentile(0.99)).toBeLessThan(50)
  }
})

test('a change of one action among 1,000 actions and 100 links costs less than twice as much as among ten', async () => {
  const manyActions = (count: number): Actions =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, anAction()]))
  const small = aService({ actions: manyActions(10) })
  const rooms = Array.from({ length: 100 }, () => aService({ actions: manyActions(10) }))
  const large = aService({
    actions: manyActions(1000),
    links: Object.fromEntries(rooms.map(({ service }, index) => [`l${index}`, service])),
  })
  /** Median CPU time (µs) of one change until a client is notification. */
  const measure = async (root: typeof small, changing: typeof small) => {
    const { bridge, url } = await serveHere({ sources: [serviceSource(root.service)] })
    const client = await aModernClient(url)
    let notification = new Latch()
    client.setNotificationHandler('notifications/tools/list_changed', () => notification.open())
    await client.listen({ toolsListChanged: true })
    const allActions = changing.actions.value
    const { a3, ...fewerActions } = allActions
    const change = async (time: number) => {
      notification = new Latch()
      changing.actions.set(time % 2 === 0 ? fewerActions : allActions)
      await notification.opened
      await sleep(100)
    }
    for (let time = 0; time < 6; time++) await change(time)
    const costs: number[] = []
    for (let time = 6; time < 46; time++) {
      const start = process.cpuUsage()
      await change(time)
      const { user, system } = process.cpuUsage(start)
      costs.push(user + system)
    }
    await bridge.close(0)
    return costs.toSorted((a, b) => a - b)[costs.length >> 1] ?? Number.NaN
  }

  const costsUs = {
    'one of ten': await measure(small, small),
    'one of a thousand beside a hundred links': await measure(large, large),
    'one behind one of the links': await measure(large, rooms[50] ?? large),
  }

  console.info(`µs of processor time per change: ${JSON.stringify(costsUs)}`)
  const [base = 0, ...others] = Object.values(costsUs)
  for (const costUs of others) expect(costUs).toBeLessThan(2 * base)
})

test('1,024 streams during 10,000 changes: at most ten notifications a second each, and slots are freed on close', async () => {
  const server = await spawnServer(path.resolve('test/fixtures/bursting'))
  const megabytesBefore = server.residentMegabytes
  const streams = await Promise.all(
    Array.from({ length: 1024 }, (_, index) => openStream(server.url, index)),
  )
  const excessStream = await openStream(server.url, 1024)
  const pausedStreams = streams.slice(0, 100)
  for (const { pause } of pausedStreams) pause()

  const start = aModernRequest('tools/call', { name: 'start', arguments: {} })
  await postMessage(server.url, start, { ...toModernHeaders(start), ...asBearer('bob') })
  const startMs = performance.now()
  let maxMegabytes = 0
  const churn = (async () => {
    // Short-lived streams connect and disconnect meanwhile.
    for (let index = 0; index < 1000; index++) {
      const { close } = await openStream(server.url, index, 'bob')
      close()
      if (index % 100 === 0) maxMegabytes = Math.max(maxMegabytes, server.residentMegabytes)
    }
  })()
  await Promise.all([churn, sleep(10_500)])
  maxMegabytes = Math.max(maxMegabytes, server.residentMegabytes)
  const seconds = (performance.now() - startMs) / 1000
  const list = aModernRequest('tools/list')
  const { text } = await postMessage(server.url, list, {
    ...toModernHeaders(list),
    ...asBearer('bob'),
  })
  await sleep(200)
  const notificationCounts = streams.slice(100).map(({ count }) => count())
  for (const { close } of streams) close()
  const closedAtMs = performance.now()
  await expect
    .poll(async () => (await openStream(server.url, 0)).isOpen, { interval: 100 })
    .toBe(true)
  const riseMegabytes = maxMegabytes - megabytesBefore

  console.info(
    `1,024 streams, 10,000 changes: ${Math.min(...notificationCounts)} to ${Math.max(...notificationCounts)} notifications each in ${seconds.toFixed(1)} s, slots free after ${(performance.now() - closedAtMs).toFixed(0)} ms, memory +${riseMegabytes.toFixed(0)} MB`,
  )
  await server.stop()
  expect(excessStream.isOpen).toBe(false)
  expect(text).toContain('"change_10000"')
  expect(text).not.toContain('"change_9999"')
  expect(Math.min(...notificationCounts)).toBeGreaterThan(5)
  expect(Math.max(...notificationCounts)).toBeLessThanOrEqual(10 * Math.ceil(seconds))
  expect(riseMegabytes).toBeLessThan(50)
})

interface Stream {
  readonly isOpen: boolean
  count(): number
  pause(): void
  close(): void
}

const agent = new http.Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })

/** A minimal subscription client, so that 1,000 of them do not distort the measurement. */
function openStream(url: string, id: number, subject = 'ann'): Promise<Stream> {
  const message = aModernRequest('subscriptions/listen', listen, id)
  const headers = { ...toModernHeaders(message), ...asBearer(subject) }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', headers, agent }, (response) => {
      let count = 0
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        count += text.split('tools/list_changed').length - 1
        resolve({
          isOpen: text.includes('acknowledged'),
          count: () => count,
          pause: () => response.pause(),
          close: () => request.destroy(),
        })
      })
      response.on('error', () => {})
    })
    request.on('error', reject)
    request.end(JSON.stringify(message))
  })
}
