import { defineTool, z } from 'drawbridge-mcp'

/** Factors to metres and to kilograms. */
const lengths = { metre: 1, kilometre: 1000, mile: 1609.344, foot: 0.3048, inch: 0.0254 } as const
const weights = { kilogram: 1, gram: 0.001, pound: 0.45359237, ounce: 0.028349523125 } as const

const units = { ...lengths, ...weights }
const unit = z.enum(Object.keys(units) as [keyof typeof units, ...(keyof typeof units)[]])

export default defineTool({
  name: 'convert_units',
  description: 'Converts a length or a weight from one unit to another. The result is exact.',
  schema: z.object({ value: z.number(), from: unit, to: unit }),
  category: 'analysis',
  execute: ({ value, from, to }) => {
    if (from in lengths !== to in lengths)
      return {
        tool: 'convert_units',
        fetchedAt: new Date().toISOString(),
        error: `${from} and ${to} measure different quantities.`,
      }
    return { value: (value * units[from]) / units[to], unit: to }
  },
  text: ({ value, unit }) => `${value} ${unit}`,
})
