/** Values of environment variables whose names suggest a secret; they must not appear in results. */
export const findSecrets = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && secretName.test(name) ? [value] : [],
  )

const secretName = /(token|secret|passw(or)?d|credential|(^|_)key$|apikey)/i
