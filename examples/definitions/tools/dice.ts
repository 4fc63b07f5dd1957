import { randomInt } from 'node:crypto'
import { defineTool, z } from 'drawbridge-mcp'

export default defineTool({
  name: 'roll_dice',
  description: 'Rolls dice one after another and reports progress after each roll.',
  schema: z.object({
    dice: z.number().int().min(1).max(20).default(2),
    sides: z.number().int().min(2).max(100).default(6),
  }),
  category: 'analysis',
  effects: { repeatable: false },
  timeout: 10_000,
  execute: async ({ dice, sides }, { progress, signal }) => {
    const rolls: number[] = []
    while (rolls.length < dice && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      rolls.push(randomInt(1, sides + 1))
      progress(rolls.length, dice, `rolled ${rolls.at(-1)}`)
    }
    return { rolls, sum: rolls.reduce((sum, roll) => sum + roll, 0) }
  },
  text: ({ rolls, sum }) => `${rolls.join(' + ')} = ${sum}`,
})
