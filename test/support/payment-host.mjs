// Makes payments with the built library, on command of `payment-host.ts`. Runs in a process of its own,
// because damaged files may end it.
const [library] = process.argv.slice(2)
const { createDrawbridge, definitionSource, defineTool, z } = await import(library)

let payments = 0
const pay = defineTool({
  name: 'pay',
  description: 'Pays an order.',
  category: 'write',
  schema: z.object({ order: z.string() }),
  execute: ({ order }) => {
    payments++
    return { paid: order }
  },
})
const look = defineTool({
  name: 'look',
  description: 'Looks at nothing.',
  category: 'read',
  schema: z.object({}),
  execute: () => 'seen',
})

let bridge
const problems = []

/** A large store is checked first. */
async function callWhenChecked(order) {
  for (;;) {
    const result = await bridge.call('pay', { order }, { idempotencyKey: order })
    if (result._meta['dev.drawbridge/failure']?.code !== 'ledger_checking') return result
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Messages about a check, which are no problems. */
const checkMessages = /was not closed properly|are sound/

async function payOrder(order) {
  const before = payments
  const result = await callWhenChecked(order)
  const failure = result._meta['dev.drawbridge/failure']
  const text = result.content.map((block) => block.text).join(' ')
  return { order, executed: payments > before, code: failure?.code ?? 'done', text }
}

const commands = {
  async open({ store }) {
    problems.length = 0
    bridge = createDrawbridge({
      name: 'bank',
      store,
      sources: [definitionSource([pay, look])],
      policy: { duplicates: { window: 0 } },
      onError: () => {},
      onOperationalError: ({ message }) => {
        if (!checkMessages.test(message)) problems.push(message)
      },
    })
    await bridge.ready
  },
  async pay({ orders }) {
    const answers = []
    for (const order of orders) answers.push(await payOrder(order))
    return { answers, problems }
  },
  async look() {
    const { isError = false } = await bridge.call('look')
    return { isError }
  },
  /** Pays until the process is killed; reports every acknowledged order. */
  async load({ name, lanes }) {
    const pump = async (lane) => {
      for (let count = 0; ; count++) {
        const answer = await payOrder(`${name}-${lane}-${count}`)
        process.send({ acknowledged: answer })
      }
    }
    for (let lane = 0; lane < lanes; lane++) void pump(lane)
  },
  async close() {
    await bridge.close()
    bridge = undefined
  },
}

process.on('message', async ({ command, ...options }) => {
  try {
    process.send({ answer: (await commands[command](options)) ?? {} })
  } catch (error) {
    process.send({ answer: { error: String(error.message), name: error.name } })
  }
})
process.on('disconnect', () => process.exit())
process.send({ answer: {} })
