import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DocumentText } from '../openapi/read-document.ts'
import { readTextFile } from './read-text-file.ts'

/** Receives the path of every file that is read. */
export type OnFile = (file: string) => void

const maxBytes = 32 * 1024 * 1024

/** Reads an OpenAPI document from a file; the files that it refers to are read below its folder only. */
export async function readOpenApiFile(file: string, onFile: OnFile): Promise<DocumentText> {
  return {
    text: await readBounded(file, onFile),
    file,
    loadFile: (url) => readConfined(url, path.dirname(file), onFile),
  }
}

/** The same for a file that another one refers to: only below the folder of that one. */
export async function readConfinedOpenApiFile(
  reference: string,
  folder: string,
  onFile: OnFile,
): Promise<DocumentText> {
  const file = path.resolve(folder, decodeURIComponent(reference))
  await confine(file, folder)
  return readOpenApiFile(file, onFile)
}

export async function readBounded(file: string, onFile: OnFile): Promise<string> {
  onFile(file)
  return readTextFile(file, maxBytes)
}

async function readConfined(url: string, folder: string, onFile: OnFile): Promise<string> {
  if (!url.startsWith('file:'))
    throw new Error(`${url} is not a file; only files are bundled, not URLs`)
  return readBounded(await confine(fileURLToPath(url), folder), onFile)
}

/** Resolves symbolic links before checking that the file is inside the folder. */
async function confine(target: string, folder: string): Promise<string> {
  const [file, root] = await Promise.all([
    realpath(target).catch(() => {
      throw new Error(`${path.relative(folder, target)} does not exist`)
    }),
    realpath(folder),
  ])
  const relative = path.relative(root, file)
  if (relative.startsWith('..') || path.isAbsolute(relative))
    throw new Error(`${path.relative(folder, target)} is outside of the folder ${folder}`)
  return file
}
