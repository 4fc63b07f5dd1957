/** Converts any spelling to a manifest id: `listAllPets` becomes `list-all-pets`. */
export const toSlug = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** Truncates a name and appends a number if it is already used. */
export function toUnique(name: string, usedNames: ReadonlySet<string>, maxLength: number): string {
  const withSuffix = (suffix: string) =>
    `${name.slice(0, maxLength - suffix.length).replace(/-$/, '')}${suffix}`
  let uniqueName = withSuffix('')
  for (let number = 2; usedNames.has(uniqueName); number++) uniqueName = withSuffix(`-${number}`)
  return uniqueName
}

/** Counts code points, as `minLength` of JSON Schema does. */
export const hasMinLength = (text: string, minLength: number): boolean =>
  [...text].length >= minLength
