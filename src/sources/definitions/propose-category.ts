import type { ToolCategory } from './tool-definition.ts'

export interface Proposal {
  readonly category: ToolCategory
  /** Why, as the end of a sentence. */
  readonly reason: string
}

/** A category for a tool without one, from the HTTP method it is routed to or the verb in its name. */
export function proposeCategory(name: string, method?: unknown): Proposal {
  const byMethod = typeof method === 'string' ? methods[method.toUpperCase()] : undefined
  if (byMethod) return { category: byMethod, reason: `it is routed to ${method}` }
  for (const word of toWords(name)) {
    const category = verbs.get(word)
    if (category) return { category, reason: `its name has the verb "${word}"` }
  }
  return {
    category: 'write',
    reason: 'its name does not tell what it does, and write is the safe one',
  }
}

/** `getUserById`, `get-user` and `users.get_user` all have the word `get`. */
const toWords = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)

const methods: Readonly<Record<string, ToolCategory>> = {
  GET: 'read',
  HEAD: 'read',
  DELETE: 'delete',
  POST: 'write',
  PUT: 'write',
  PATCH: 'write',
}

const verbsOf = {
  read: 'get list search find read fetch show describe query lookup look view browse retrieve check count watch download',
  analysis:
    'calculate compute analyze analyse summarize summarise compare convert parse validate estimate format evaluate',
  delete: 'delete remove drop purge erase destroy clear wipe',
  write:
    'create update add set put post insert upsert edit write save store upload send notify email publish book order pay charge refund transfer cancel schedule assign approve move rename start stop run execute deploy restart',
} as const satisfies Partial<Record<ToolCategory, string>>

const verbs: ReadonlyMap<string, ToolCategory> = new Map(
  Object.entries(verbsOf).flatMap(([category, words]) =>
    words.split(' ').map((word) => [word, category as ToolCategory] as const),
  ),
)
