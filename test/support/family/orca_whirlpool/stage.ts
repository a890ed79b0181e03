import { createSolanaClient, SOLANA_CHAIN_ID } from '../../../../src/chain/solana/client.ts'
import { ORCA_WHIRLPOOL } from '../../../../src/family/orca_whirlpool/mod.ts'
import type { Reply, Route } from '../../../../src/http/route/route.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { callRoute, toRouteFailure } from '../../call_route.ts'
import { createFamilyRoutes } from '../../family.ts'
import type { SolanaDouble } from '../../solana.ts'
import { createFixedClock, slowClock } from '../../test_clock.ts'

export const LIST = '/v1/positions/orca-whirlpool'
export const SLOT_MS = 400

/** Answer of a route, from the parameters to the body. */
export interface OrcaAnswer {
  readonly status: number
  readonly code?: string
  readonly message?: string
  readonly reply?: Reply
  readonly credits?: number
}

/** The family over test doubles, with a clock that can be advanced. */
export function orcaStage(
  doubles: readonly SolanaDouble[],
  options: { readonly row?: object; readonly now?: Clock['now']; readonly clock?: Clock } = {},
) {
  const { clock: given = slowClock, now = given.now } = options
  const lines: string[] = []
  let passedMs = 0
  const clock: Clock = { ...given, now, monotonicMs: () => given.monotonicMs() + passedMs }
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const solana = createSolanaClient({
    rpcUrls: doubles.map(({ url }) => url),
    maxSlotAgeSec: 60,
    slotMs: SLOT_MS,
    clock,
    log,
    random: () => 0,
  })
  const rows = [[SOLANA_CHAIN_ID, options.row ?? {}]] as const
  const routes = createFamilyRoutes(ORCA_WHIRLPOOL, { solana, rows, clock, log })

  function findRoute(path: string): Route {
    const found = routes.find((each) => each.path === path)
    if (found === undefined) throw new Error(`There is no route ${path}`)
    return found
  }

  async function ask(route: Route, params: Record<string, string>, query: object): Promise<OrcaAnswer> {
    const text = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString()
    try {
      const { reply, credits } = await callRoute(route, { params, query: text })
      return { status: 200, reply, credits }
    } catch (error) {
      const { status, code, message } = toRouteFailure(error, route)
      if (/solana-secret|127\.0\.0\.1|upstream text/.test(message)) throw new Error(`A secret is in "${message}"`)
      return { status, code, message }
    }
  }

  return {
    lines,
    solana,
    /** Advances the clock, by default one slot, so that cached reads expire. */
    pass(ms = SLOT_MS) {
      passedMs += ms
    },
    list: (query: object) => ask(findRoute(LIST), {}, query),
    single: (id: string, query: object) => ask(findRoute(`${LIST}/:id`), { id }, query),
  }
}
