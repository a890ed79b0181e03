import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { UNISWAP_V3 } from '../../../../src/family/uniswap_v3/mod.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import type { Reply, Route } from '../../../../src/http/route/route.ts'
import { callRoute } from '../../../support/call_route.ts'
import { patient } from '../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../support/family.ts'

/** Answer of a route, and its cost. */
export interface Answer {
  readonly reply: Reply & { readonly data: never; readonly counts: Record<string, unknown> }
  readonly credits: number
  readonly creditsMin: number
}

/** The family's endpoints. */
export interface Routes {
  readonly list: Route
  readonly one: Route
}

/** Creates both endpoints over chain 1 with these deployments. */
export function createRoutes(clients: readonly FinanceClient[], deployments: readonly EnumerableDeployment[]): Routes {
  const [list, one] = createFamilyRoutes(UNISWAP_V3, { clients, rows: [[1, { uniswapV3: deployments }]] })
  if (list === undefined || one === undefined) throw new Error('Cannot find the routes')
  return { list, one }
}

/** Answers a route as the app does, without the gate. */
export async function ask(route: Route, query: string, params: Record<string, string> = {}): Promise<Answer> {
  return (await callRoute(route, { params, query }, patient.signal)) as Answer
}

/** Gets the token ids on a page. */
export function getIds(answer: Answer): string[] {
  return (answer.reply.data as { token_id: string }[]).map(({ token_id }) => token_id)
}
