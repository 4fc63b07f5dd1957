import { aggregateRoute } from './aggregate-route.ts'
import type { ReadRoute } from './read-route.ts'
import { schemaRoutes } from './schema-routes.ts'
import { searchRoute } from './search-route.ts'
import { streamRoutes } from './stream-routes.ts'

/** All routes of the read contract. */
export const readRoutes: readonly ReadRoute[] = [
  ...schemaRoutes,
  ...streamRoutes,
  aggregateRoute,
  searchRoute,
]
