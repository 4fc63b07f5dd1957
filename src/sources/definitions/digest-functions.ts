import { digestJson } from '../../json/digest-json.ts'

/** Definitions that were not loaded from a file: the text of their functions, without what they import. */
export const digestFunctions = (definition: unknown): string =>
  digestJson(
    JSON.stringify(
      Object.values(definition as object)
        .filter((value) => typeof value === 'function')
        .map(String),
    ),
  )
