// A file of its own: open.ts takes a second to load, and not every verb needs it.

export const whatArgument = {
  type: 'positional',
  required: false,
  default: '.',
  description:
    'a drawbridge.yaml, its folder, an agent.yaml, or a module with definitions or a service',
} as const

/** `[WHAT] NAME [JSON]`. All are optional to the parser, because `toCallWords` tells them apart. */
export const callArguments = {
  what: whatArgument,
  name: { type: 'positional', required: false, description: 'name of the tool' },
  JSON: {
    type: 'positional',
    required: false,
    description: 'arguments of the tool as a JSON object; "-" reads them from standard input',
  },
} as const

export const mountFlag = {
  type: 'string',
  description: 'mount of the tool (default: the only mount, or /mcp)',
} as const

export const jsonFlag = { type: 'boolean', description: 'print machine-readable JSON' } as const

export const storeFlag = {
  type: 'string',
  default: './personal.db',
  description: 'the records store',
} as const

export const envOptionalFlag = {
  type: 'boolean',
  description: 'environment variables of the configuration need not be set, as in CI',
} as const
