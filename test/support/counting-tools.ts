/** A tool that writes down every time it runs, as code: only what differs from a plain write is said. */
export interface CountingTool {
  readonly name: string
  readonly description?: string
  readonly category?: string
  /** Code: the schema. */
  readonly schema?: string
  /** Code: further fields of the definition. */
  readonly more?: string
  /** Code: the rest of `execute(input, context)`. */
  readonly body?: string
}

/** Where the tools of a folder write down that they ran. */
export const ranFile = 'ran.ndjson'

/** A module of tools, in a folder below the configuration. */
export const countingTools = (...tools: readonly CountingTool[]): string =>
  `import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { ask, content, defineTool, z } from 'drawbridge-mcp'

const file = path.join(import.meta.dirname, '..', ${JSON.stringify(ranFile)})
const ran = (name, input) => appendFileSync(file, JSON.stringify({ name, input }) + '\\n')

export default [${tools.map(toCode).join('\n')}]
`

const toCode = ({
  name,
  description = `Is called ${name}.`,
  category = 'write',
  schema = 'z.object({ order: z.string() })',
  more = '',
  body = 'return { done: input.order }',
}: CountingTool): string => `
  defineTool({
    name: ${JSON.stringify(name)},
    description: ${JSON.stringify(description)},
    category: ${JSON.stringify(category)},
    schema: ${schema},
    ${more}
    async execute(input, context) {
      ran(${JSON.stringify(name)}, input)
      ${body}
    },
  }),`
