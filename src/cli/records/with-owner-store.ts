import { type OwnerStore, openOwnerStore } from '../../runtime/records/owner-store.ts'

type Work = (store: OwnerStore) => number | Promise<number>

/** Opens a store that must exist. */
export const withOwnerStore = (file: string, work: Work): Promise<number> =>
  closeAfter(openOwnerStore(file, false), work)

/** Opens a store, and creates it if it does not exist. */
export const withNewOwnerStore = (file: string, work: Work): Promise<number> =>
  closeAfter(openOwnerStore(file, true), work)

async function closeAfter(store: OwnerStore, work: Work): Promise<number> {
  try {
    return await work(store)
  } finally {
    store.close()
  }
}
