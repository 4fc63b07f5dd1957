/** Source code of a tool that logs every execution; the defaults describe a simple write. */
export interface CountingTool {
  readonly name: string
  readonly description?: string
  readonly category?: string
  /** Source code of the schema. */
  readonly schema?: string
  /** Source code: further fields of the definition. */
  readonly more?: string
  /** Source code: the rest of `execute(input, context)`. */
  readonly body?: string
}

/** The file in which the tools of a folder log their executions. */
export const ranFile = 'ran.ndjson'

/** Source code of a module of tools, for a folder below the configuration. */
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
