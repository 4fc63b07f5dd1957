import type { ToolCategory } from './tool-definition.ts'

export interface Proposal {
  readonly category: ToolCategory
  /** Why, as the end of a sentence. */
  readonly reason: string
}

/**
 * A category for a tool without one, from the HTTP method it is routed to or the verbs in its name. Only reads
 * are a risk to propose: the name must begin with a verb that always reads, and have no other verb.
 */
export function proposeCategory(name: string, method?: unknown): Proposal {
  const byName = proposeByName(name)
  const byMethod = typeof method === 'string' ? methods.get(method.toUpperCase()) : undefined
  const contradicts = byMethod === 'read' && byName !== undefined && writes(byName.category)
  if (byMethod && !contradicts) return { category: byMethod, reason: `it is routed to ${method}` }
  return (
    byName ?? {
      category: 'write',
      reason: 'its name does not tell what it does, and write is the safe one',
    }
  )
}

/** The worst of the verbs; one that reads counts in the first place only. */
function proposeByName(name: string): Proposal | undefined {
  const words = toWords(name)
  const first = readingVerbs.get(words[0] ?? '')
  const found = words.flatMap((word, index) => {
    const category = writingVerbs.get(word)
    const isNoun = index > 0 && nouns.has(word) && !conjunctions.has(words[index - 1] ?? '')
    return category === undefined || isNoun ? [] : [{ category, word }]
  })
  const worst = found.find(({ category }) => category === 'delete') ?? found[0]
  if (worst) return { category: worst.category, reason: toReason(worst.word) }
  // After "and" comes another verb, which may be one that is not known.
  const onlyReads = words.every(
    (word, index) => !conjunctions.has(words[index - 1] ?? '') || readingVerbs.has(word),
  )
  return onlyReads && first ? { category: first, reason: toReason(words[0] ?? '') } : undefined
}

const toReason = (verb: string): string => `its name has the verb "${verb}"`

const writes = (category: ToolCategory): boolean => category !== 'read' && category !== 'analysis'

/** `getUserById`, `get-user` and `users.get_user` all begin with `get`: what is before a dot is a group. */
function toWords(name: string): readonly string[] {
  const groups = name.split(/[./:]|__/)
  const isGrouped = groups.slice(0, -1).every((group) => toParts(group).every(isNoVerb))
  return toParts(isGrouped ? (groups.at(-1) ?? name) : name)
}

const toParts = (text: string): readonly string[] =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)

const isNoVerb = (word: string): boolean => !writingVerbs.has(word)

const methods: ReadonlyMap<string, ToolCategory> = new Map([
  ['GET', 'read'],
  ['HEAD', 'read'],
  ['DELETE', 'delete'],
  ['POST', 'write'],
  ['PUT', 'write'],
  ['PATCH', 'write'],
])

const toVerbs = (table: Partial<Record<ToolCategory, string>>): ReadonlyMap<string, ToolCategory> =>
  new Map(
    Object.entries(table).flatMap(([category, verbs]) =>
      verbs
        .split(/\s+/)
        .filter(Boolean)
        .map((verb) => [verb, category as ToolCategory] as const),
    ),
  )

/** Not those that may write, too: `query_database`, `check_out`, `format_disk`, `convert_lead`. */
const readingVerbs = toVerbs({
  read: 'get list search find read fetch show describe lookup look view browse retrieve count',
  analysis: 'calculate compute analyze analyse summarize summarise compare parse validate estimate',
})

const writingVerbs = toVerbs({
  delete:
    'delete remove drop purge erase destroy clear wipe unlink uninstall revoke terminate truncate',
  write: `accept activate add append apply approve archive assign authorize backup ban block book buy
    cancel change charge checkout click clone close commit complete configure copy create deactivate
    decline deploy disable dismiss edit email enable enqueue execute exec export forget fork forward generate
    grant import increment init insert install invite issue join kill label launch leave link lock log
    login logout make mark merge message migrate modify move mute notify open order overwrite patch
    pause pay pin play post press promote provision publish push put rebuild record redeem refund
    register reject release rename reopen reorder replace reply report request reschedule reserve
    reset resize resolve restart restore resume retry revert rollback rotate run save schedule
    send set share sign spawn start stop store submit subscribe suspend swap sync tag toggle
    transfer trigger type unarchive unban unblock undo unfollow unlock unmute unpin unsubscribe
    unwatch update upgrade upload upsert vote watch withdraw write`,
})

/** Words that are verbs at the beginning or after a conjunction, and nouns elsewhere: `get_order`. */
const nouns = new Set(
  `backup block book change charge clone commit copy email export fork issue label link log
  login message order patch play post record refund release report request reply run schedule share
  store tag transfer trigger type vote watch`.split(/\s+/),
)

const conjunctions = new Set(['and', 'or', 'then'])
