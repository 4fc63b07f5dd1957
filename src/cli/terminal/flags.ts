// Apart from what opens a server, which takes a second to load and is not needed by every verb.

export const whatArgument = {
  type: 'positional',
  required: false,
  default: '.',
  description: 'a drawbridge.yaml, its folder, or a module of definitions or with a service',
} as const

export const jsonFlag = { type: 'boolean', description: 'machine-readable output' } as const

export const storeFlag = {
  type: 'string',
  default: './personal.db',
  description: 'the store (./personal.db)',
} as const
