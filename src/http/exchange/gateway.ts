import type { Parameters } from '../request/parameters.ts'
import type { Asked } from '../route/route.ts'
import type { Endpoint, RouteTable } from '../route/route_table.ts'
import type { Exchange, SettledAnswer } from './exchange.ts'
import type { Purse } from './purse.ts'

/** Where another protocol is served. In the log it stands before the path of an endpoint that was called by it. */
export const GATEWAY_PATH = '/mcp'

/** Methods of the gateway's path. */
export const GATEWAY_METHODS = 'POST, OPTIONS'

/** One message of another protocol. It is admitted, answered, charged and logged like a request of its own. */
export interface Message {
  readonly endpoint: Endpoint
  /** Parameters and body; a mistake in them is thrown when it is called, so that it is answered and logged. */
  readonly asked: () => Asked
  /** Where the same is answered over HTTP, for links: path, and query without `?`. */
  readonly path: string
  readonly query: string
  readonly purse?: Purse
}

/** Runs one message to its end. Never rejects. */
export type RunMessage = (message: Message) => Promise<SettledAnswer>

/** Another protocol over the same endpoints. One request may hold several messages. */
export interface Gateway {
  /** Stands in the log and for the operator's switch of the path itself. */
  readonly endpoint: Endpoint
  /** Answers a POST whose head is sound. Never rejects. */
  answer(request: Request, run: RunMessage): Promise<SettledAnswer>
}

/** A message without input. */
export function emptyInput(): Asked {
  return { parameters: () => NO_PARAMETERS, body: async () => ({ value: () => ({}) }) }
}

/** The exchange of one message. `settlementId` must be new: each message is charged by itself. */
export function exchangeOf(message: Message, exchange: Exchange, settlementId: string): Exchange {
  const { endpoint, asked, path, query, purse } = message
  return {
    ...exchange,
    settlementId,
    asked,
    path,
    query,
    ...(purse === undefined ? {} : { purse }),
    method: endpoint.route.method,
    found: { kind: 'endpoint', endpoint, params: {} },
    logged: loggedPath(endpoint),
  }
}

/** Template that the log has for a path: of an endpoint, or of one that the gateway called; undefined if it has none. */
export function loggedTemplateOf(table: RouteTable, path: string): string | undefined {
  if (path === GATEWAY_PATH) return path
  if (!path.startsWith(`${GATEWAY_PATH}/`)) return table.templateOf(path)
  const template = table.templateOf(path.slice(GATEWAY_PATH.length))
  return template === undefined ? undefined : `${GATEWAY_PATH}${template}`
}

/** Path in the log, which begins with the gateway's own. */
function loggedPath({ template }: Endpoint): string {
  return template === GATEWAY_PATH ? template : `${GATEWAY_PATH}${template}`
}

const NO_PARAMETERS: Parameters = { values: {} }
