import { expect } from 'bun:test'
import * as v from 'valibot'
import type { ChainClient } from '../../../src/chain/client.ts'
import type { UniswapV3Deployment } from '../../../src/family/uniswap_v3/deployments.ts'
import { createUniswapV3 } from '../../../src/family/uniswap_v3/mod.ts'
import { parseInput } from '../../../src/http/parse_input.ts'
import type { Reply, RouteDefinition } from '../../../src/http/route.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { patient } from './support.ts'

/** A route whose types are forgotten. */
export type AnyRoute = RouteDefinition<unknown, unknown, unknown>

/** What a route answers, and what it costs. */
export interface Answer {
  readonly reply: Reply & { readonly data: never; readonly counts: Record<string, unknown> }
  readonly credits: number
  readonly creditsMin: number
}

/** The family's endpoints. */
export interface Routes {
  readonly list: AnyRoute
  readonly one: AnyRoute
}

/** Both endpoints over chain 1 with these deployments. */
export function routesOf(clients: readonly ChainClient[], deployments: readonly UniswapV3Deployment[]): Routes {
  const family = createUniswapV3({
    clients: new Map(clients.map((client) => [client.chain.id, client])),
    clock: systemClock,
    log: silentLog,
    deployments: new Map(deployments.length === 0 ? [] : [[1, deployments]]),
  })
  const [list, one] = family.routes as unknown as readonly AnyRoute[]
  if (list === undefined || one === undefined) throw new Error('Cannot find the routes')
  return { list, one }
}

/** What the app does with a route, without the gate. */
export async function ask(route: AnyRoute, query: string, params: Record<string, string> = {}): Promise<Answer> {
  const input = parseInput(route.input, { params, query })
  const context = { signal: patient, organizationId: 'org', requestId: 'req', requestedAtMs: 0 }
  const result = await route.read(input as never, context)
  const url = new URL(`https://api.example.org/v1/positions/uniswap-v3?${query}`)
  const reply = route.present(result, input as never, { url }) as Answer['reply']
  const { asOf: _, ...body } = reply
  const { issues } = v.safeParse(route.output, JSON.parse(JSON.stringify(body)))
  expect(issues).toBeUndefined()
  return { reply, credits: route.credits(result, input as never), creditsMin: route.creditsMin(input as never) }
}

/** The token ids on a page. */
export function idsOf(answer: Answer): string[] {
  return (answer.reply.data as { token_id: string }[]).map(({ token_id }) => token_id)
}
