import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

type Files = Readonly<Record<string, string>>

/** A temporary folder with these files; removed when the test ends. */
export async function aProject(files: Files): Promise<string> {
  const folder = await createFolder(files)
  onTestFinished(() => remove(folder))
  return folder
}

/** A folder shared by all tests of a file, removed when the last one ends. Call it at module level. */
export async function aSharedProject(files: Files): Promise<string> {
  const folder = await createFolder(files)
  afterAll(() => remove(folder))
  return folder
}

async function createFolder(files: Files): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-'))
  for (const [name, text] of Object.entries(files)) await put(path.join(folder, name), text)
  return folder
}

const remove = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 3 })

export async function put(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, text)
}

export interface ToolText {
  readonly name: string
  readonly description?: string
  readonly category?: string
  readonly permissions?: readonly string[]
  /** Source code of the schema. */
  readonly schema?: string
  /** Source code: the body of `async execute(input, context)`. */
  readonly body?: string
}

/** The source code of a module with one tool. */
export const aToolModule = ({
  name,
  description = `Is called ${name}.`,
  category = 'read',
  permissions = [],
  schema = 'z.object({})',
  body = `return ${JSON.stringify(name)}`,
}: ToolText): string => `import { defineTool, z } from 'drawbridge-mcp'

export default defineTool({
  name: ${JSON.stringify(name)},
  description: ${JSON.stringify(description)},
  category: ${JSON.stringify(category)},
  permissions: ${JSON.stringify(permissions)},
  schema: ${schema},
  async execute(input, context) {
    ${body}
  },
})
`

/** A configuration that serves every module in `tools/`. */
export const aConfig = (rest = ''): string =>
  `name: acme\nversion: 1.2.3\nsources:\n  - definitions: ./tools/*.ts\n${rest}`
