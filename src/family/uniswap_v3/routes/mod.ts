import type { Route } from '../../../http/route.ts'
import { listRoute } from './list.ts'
import type { RoutesOptions } from './places.ts'
import { positionRoute } from './position.ts'

/** The family's endpoints. */
export function createRoutes(options: RoutesOptions): readonly Route[] {
  return [listRoute(options), positionRoute(options)]
}
