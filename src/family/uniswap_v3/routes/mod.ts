import type { Route } from '../../../http/route.ts'
import { eventsRoute } from './events.ts'
import { listRoute } from './list.ts'
import type { RoutesOptions } from './places.ts'
import { pnlRoute } from './pnl.ts'
import { positionRoute } from './position.ts'

/** The family's endpoints. */
export function createRoutes(options: RoutesOptions): readonly Route[] {
  return [listRoute(options), positionRoute(options), pnlRoute(options), eventsRoute(options)]
}
