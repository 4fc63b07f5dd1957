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
  const file = path.resolve(folder, decode(reference, decodeURIComponent))
  await confine(file, folder, onFile)
  return readOpenApiFile(file, onFile)
}

export async function readBounded(file: string, onFile: OnFile): Promise<string> {
  onFile(file)
  return readTextFile(file, maxBytes)
}

function decode(reference: string, toPath: (reference: string) => string): string {
  try {
    return toPath(reference)
  } catch {
    throw new Error(`${reference} is not a valid path: a percent sign is written as %25`)
  }
}

async function readConfined(url: string, folder: string, onFile: OnFile): Promise<string> {
  if (!url.startsWith('file:'))
    throw new Error(`${url} is not a file; only files are bundled, not URLs`)
  return readBounded(await confine(decode(url, fileURLToPath), folder, onFile), onFile)
}

/** Resolves symbolic links before checking that the file is inside the folder. */
async function confine(target: string, folder: string, onFile: OnFile): Promise<string> {
  const root = await realpath(folder)
  const file = await realpath(target).catch(() => undefined)
  if (file === undefined) {
    if (isInside(folder, target)) onFile(await findFolder(path.dirname(target)))
    throw new Error(`${path.relative(folder, target)} does not exist`)
  }
  if (!isInside(root, file))
    throw new Error(`${path.relative(folder, target)} is outside of the folder ${folder}`)
  return file
}

function isInside(folder: string, file: string): boolean {
  const relative = path.relative(folder, file)
  return !relative.startsWith('..') && !path.isAbsolute(relative)
}

/** The folder that a missing file, or the folder that it is in, is created in: `--watch` sees that it changes. */
async function findFolder(folder: string): Promise<string> {
  const exists = await realpath(folder).then(
    () => true,
    () => false,
  )
  return exists ? folder : findFolder(path.dirname(folder))
}
