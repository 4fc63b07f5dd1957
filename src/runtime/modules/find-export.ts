import { readFile } from 'node:fs/promises'

/** `file:line:column` of an exported name or of a property of that name; of the beginning if it is not found. */
export async function findExport(file: string, name: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const escaped = name.replaceAll(/[^\w]/g, '\\$&')
  const forms = [
    String.raw`^[ \t]*export\s+(?:default\s+)?(?:async\s+)?(?:function\s*\*?|const|let|var|class)\s+(?=${escaped}(?![\w$]))`,
    String.raw`^[ \t]*(?:module\.)?exports\.(?=${escaped}(?![\w$]))`,
    String.raw`(?<![\w$.-])(?:async\s+)?['"]?(?=${escaped}['"]?\s*[:(,}])`,
  ]
  for (const form of forms) {
    const match = new RegExp(form, 'm').exec(text)
    if (match) return toPosition(file, text.slice(0, match.index + match[0].length))
  }
  return `${file}:1:1`
}

function toPosition(file: string, before: string): string {
  const lines = before.split('\n')
  return `${file}:${lines.length}:${(lines.at(-1) ?? '').length + 1}`
}
