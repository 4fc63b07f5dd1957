// A file of its own: open.ts takes a second to load, and not every verb needs it.

export const whatArgument = {
  type: 'positional',
  required: false,
  default: '.',
  description:
    'a drawbridge.yaml, its folder, an agent.yaml, or a module with definitions or a service',
} as const

export const jsonFlag = { type: 'boolean', description: 'machine-readable output' } as const

export const storeFlag = {
  type: 'string',
  default: './personal.db',
  description: 'the records store',
} as const
