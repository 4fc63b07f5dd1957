/** Words of any spelling as the ids of a manifest: `listAllPets` becomes `list-all-pets`. */
export const toSlug = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** The same name with a number after it, where it is taken. */
export function toUnique(name: string, taken: ReadonlySet<string>, longest: number): string {
  const fits = (suffix: string) =>
    `${name.slice(0, longest - suffix.length).replace(/-$/, '')}${suffix}`
  let unique = fits('')
  for (let number = 2; taken.has(unique); number++) unique = fits(`-${number}`)
  return unique
}

/** Characters as a reader counts them, and as a manifest does. */
export const hasMinLength = (text: string, least: number): boolean => [...text].length >= least
