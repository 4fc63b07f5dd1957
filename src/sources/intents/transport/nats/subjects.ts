/** One subject per agent; its replicas share it. */
export const toSubject = (prefix: string, agent: string): string =>
  `${prefix}.agent.${toToken(agent)}`

export const toQueue = (agent: string): string => toToken(agent)

/** Heard by all replicas: only one of them has what is cancelled. */
export const toCancelSubject = (prefix: string, agent: string): string =>
  `${prefix}.cancel.${toToken(agent)}`

/** Where agents tell what they serve, and where newcomers ask for that. */
export const toRegistrySubject = (prefix: string): string => `${prefix}.registry`
export const toDiscoverySubject = (prefix: string): string => `${prefix}.rollcall`

/** Where routers tell each other who is ill. */
export const toHealthSubject = (prefix: string): string => `${prefix}.health`

/** A dot would begin another part of the subject, and the rest would mean something. */
const toToken = (name: string): string =>
  name.replaceAll(
    /[^\w:-]/g,
    (character) => `%${character.codePointAt(0)?.toString(16).toUpperCase()}`,
  )
