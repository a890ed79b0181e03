import type { RouteRequest } from '../route/route.ts'
import type { RouteEndpoint, RouteTable } from '../route/route_table.ts'
import type { Invocation, SettledAnswer } from './exchange.ts'
import type { KeyHolder } from './gate.ts'

/** Where another protocol is served. In the log it stands before the path of an endpoint that was called by it. */
export const GATEWAY_PATH = '/mcp'

/** Methods of the gateway's path. */
export const GATEWAY_METHODS = 'POST, OPTIONS'

/** Runs one invocation as a request of its own: admitted, answered, charged and logged by itself. Never rejects. */
export type Invoke = (invocation: Invocation) => Promise<SettledAnswer>

/** Another protocol over the same endpoints. One request may hold several messages. */
export interface Gateway {
  /** Stands in the log and for the operator's switch of the path itself. */
  readonly endpoint: RouteEndpoint
  /** Answers a POST whose head is sound. `holder` is undefined without a key. Never rejects. */
  answer(request: Request, holder: KeyHolder | undefined, invoke: Invoke): Promise<SettledAnswer>
}

/** A message without input. */
export function emptyInput(): RouteRequest {
  return { parameters: () => ({ values: {} }), body: async () => ({ value: () => ({}) }) }
}

/** Template that the log has for a path: of an endpoint, or of one that the gateway called; undefined if it has none. */
export function getLoggedTemplate(table: RouteTable, path: string): string | undefined {
  if (path === GATEWAY_PATH) return path
  if (!path.startsWith(`${GATEWAY_PATH}/`)) return table.templateOf(path)
  const template = table.templateOf(path.slice(GATEWAY_PATH.length))
  return template === undefined ? undefined : `${GATEWAY_PATH}${template}`
}
