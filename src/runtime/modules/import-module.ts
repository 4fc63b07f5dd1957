/** Node's `import()` of a file. Not bundled with other code: `import()` fails in code from a V8 cache. */
export const importModule = (url: string): Promise<Readonly<Record<string, unknown>>> => import(url)
