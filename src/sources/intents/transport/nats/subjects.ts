/** Request subject of an agent; its replicas form a queue group on it. */
export const toSubject = (prefix: string, agent: string): string =>
  `${prefix}.agent.${toToken(agent)}`

export const toQueue = (agent: string): string => toToken(agent)

/** Every replica subscribes: the sender does not know which one handles the request. */
export const toCancelSubject = (prefix: string, agent: string): string =>
  `${prefix}.cancel.${toToken(agent)}`

/** Agents announce what they serve on the first subject; the second asks them to do so now. */
export const toRegistrySubject = (prefix: string): string => `${prefix}.registry`
export const toDiscoverySubject = (prefix: string): string => `${prefix}.rollcall`

/** Routers share the health of agents here. */
export const toHealthSubject = (prefix: string): string => `${prefix}.health`

/** Percent-encodes dots, wildcards and spaces, which have a meaning in NATS subjects. */
const toToken = (name: string): string =>
  name.replaceAll(
    /[^\w:-]/g,
    (character) => `%${character.codePointAt(0)?.toString(16).toUpperCase()}`,
  )
