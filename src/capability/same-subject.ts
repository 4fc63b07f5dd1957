/**
 * True if two subjects name the same person, however they are written: case, width, composition (NFC, NFD),
 * white space and invisible characters make no difference. For refusals only: nobody gains access by it.
 */
export const isSameSubject = (first: string, second: string): boolean =>
  toComparable(first) === toComparable(second)

const toComparable = (subject: string): string =>
  subject
    .normalize('NFKC')
    .toUpperCase() // before toLowerCase: ß and SS become equal
    .toLowerCase()
    .replaceAll(/[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{C}]/gu, '')
    .normalize('NFC')
