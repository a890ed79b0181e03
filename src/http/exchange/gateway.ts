import type { RouteRequest } from '../route/route.ts'
import type { RouteEndpoint, RouteTable } from '../route/route_table.ts'
import type { Invocation, SettledAnswer } from './exchange.ts'
import type { Admission, KeyHolder } from './gate.ts'

/** Path of another protocol, MCP. The log prefixes it to the path of an endpoint called by that protocol. */
export const GATEWAY_PATH = '/mcp'

/** Methods of the gateway's path. */
export const GATEWAY_METHODS = 'POST, OPTIONS'

/** Runs invocations of one body for the holder of its key. */
export interface Invoker {
  /** Admits an invocation before it is run. It must be run with the admission, which counts as its request. */
  admit(invocation: Invocation): Promise<Admission>
  /** Runs one invocation as a separate request: admitted, answered, charged and logged by itself. Never rejects. */
  invoke(invocation: Invocation): Promise<SettledAnswer>
}

/** Another protocol over the same endpoints. One request may hold several messages. */
export interface Gateway {
  /** Endpoint of the path itself, for the log and the operator's switch. */
  readonly endpoint: RouteEndpoint
  /** Answers a POST with a valid head and a known key. Never rejects. */
  answer(request: Request, holder: KeyHolder, invoker: Invoker): Promise<SettledAnswer>
}

/** Returns a request without input. */
export function emptyInput(): RouteRequest {
  return { parameters: () => ({ values: {} }), body: async () => ({ value: () => ({}) }) }
}

/** Template under which the log counts a path of an endpoint or of a gateway's call; undefined for other paths. */
export function getLoggedTemplate(table: RouteTable, path: string): string | undefined {
  if (path === GATEWAY_PATH) return path
  if (!path.startsWith(`${GATEWAY_PATH}/`)) return table.getTemplate(path)
  const template = table.getTemplate(path.slice(GATEWAY_PATH.length))
  return template === undefined ? undefined : `${GATEWAY_PATH}${template}`
}
