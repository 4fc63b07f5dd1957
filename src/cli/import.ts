import { writeFile } from 'node:fs/promises'
import { defineCommand } from 'citty'
import { SetupError } from '../capability/setup-error.ts'
import { importOpenApi } from '../runtime/import-openapi.ts'
import { descriptions } from './descriptions.ts'
import { jsonFlag } from './terminal/flags.ts'
import { count, output, printJson, printMessage } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

const readers = { openapi: importOpenApi }

export const importDraft = defineCommand({
  meta: { name: 'import', description: descriptions.import },
  args: {
    format: {
      type: 'positional',
      required: true,
      description: `format of FILE: ${Object.keys(readers).join(', ')}`,
    },
    file: {
      type: 'positional',
      required: true,
      description: 'an OpenAPI 3.0, 3.1 or Swagger 2.0 document',
    },
    out: { type: 'string', description: 'file to write (default: standard output)' },
    force: { type: 'boolean', description: 'replace an existing file' },
    outputs: {
      type: 'boolean',
      description: 'copy the schemas of responses (default: while they are small)',
    },
    json: jsonFlag,
  },
  async run({ args }) {
    if (!isFormat(args.format))
      throw new UsageError(
        `Unknown format "${args.format}". Available: ${Object.keys(readers).join(', ')}.`,
      )
    const { manifest, reviews, yaml } = await readers[args.format](args.file, {
      out: args.out,
      outputs: args.outputs,
    })
    if (args.out !== undefined) await write(args.out, yaml, args.force === true)
    if (args.json)
      printJson({
        manifest,
        reviews: reviews.map((review, index) => ({ id: String(index + 1), ...review })),
      })
    else if (args.out === undefined) output.write(yaml)
    const capabilities = count(manifest.capabilities.length, 'capability', 'capabilities')
    printMessage(
      `${capabilities}, ${count(reviews.length, 'place')} to review${args.out === undefined ? '' : `, in ${args.out}`}.`,
    )
    return 0
  },
})

const isFormat = (word: string): word is keyof typeof readers => Object.hasOwn(readers, word)

/** Does not overwrite a file without `--force`: it may be edited by hand. */
async function write(file: string, text: string, force: boolean): Promise<void> {
  await writeFile(file, text, { flag: force ? 'w' : 'wx' }).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST'
        ? new UsageError(`${file} already exists; --force replaces it.`)
        : new SetupError(`${file} cannot be written: ${error.code}`)
    },
  )
}
