import type { RecordPage } from '../query/record-page.ts'

/** Cursors, bookmarks and counts for the text of an answer: some clients show the model only the text. */
export const toContinuation = (page: Partial<RecordPage>): readonly string[] => [
  `has_more ${page.hasMore}.`,
  ...(page.nextCursor === undefined ? [] : [`next_cursor ${JSON.stringify(page.nextCursor)}.`]),
  ...(page.nextChangesSince === undefined
    ? []
    : [`next_changes_since ${JSON.stringify(page.nextChangesSince)}.`]),
  ...(page.count === undefined ? [] : [`count exact ${page.count}.`]),
]
