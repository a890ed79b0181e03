import { getLoggedTemplate } from '../../http/exchange/gateway.ts'
import type { RouteTable } from '../../http/route/route_table.ts'

/** What the log calls charges that no request makes: for an hour of an organization's triggers, and for a message. */
const CHARGE_PATHS = ['/v1/triggers/hour', '/v1/triggers/message']

/** The name that the log has for a path; undefined if it leads nowhere. */
export function getLoggedPath(table: RouteTable, path: string): string | undefined {
  // They look like ids of triggers.
  return CHARGE_PATHS.includes(path) ? path : getLoggedTemplate(table, path)
}
