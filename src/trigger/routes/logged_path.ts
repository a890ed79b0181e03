import { getLoggedTemplate } from '../../http/exchange/gateway.ts'
import type { RouteTable } from '../../http/route/route_table.ts'

/** Log names of charges without a request: an hour of an organization's triggers, and a message. */
const CHARGE_PATHS = ['/v1/triggers/hour', '/v1/triggers/message']

/** The name of a path in the request log; undefined if no route matches. */
export function getLoggedPath(table: RouteTable, path: string): string | undefined {
  // These paths would match as ids of triggers.
  return CHARGE_PATHS.includes(path) ? path : getLoggedTemplate(table, path)
}
