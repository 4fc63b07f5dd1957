import { type OwnerStore, openOwnerStore } from '../../runtime/records/owner-store.ts'

type Work = (store: OwnerStore) => number | Promise<number>

/** For verbs that need an existing store. */
export const withOwnerStore = (file: string, work: Work): Promise<number> =>
  closeAfter(openOwnerStore(file, false), work)

/** For verbs that write: the store is created if it does not exist. */
export const withNewOwnerStore = (file: string, work: Work): Promise<number> =>
  closeAfter(openOwnerStore(file, true), work)

async function closeAfter(store: OwnerStore, work: Work): Promise<number> {
  try {
    return await work(store)
  } finally {
    store.close()
  }
}
