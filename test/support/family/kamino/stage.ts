import { createSolanaClient, SOLANA_CHAIN_ID } from '../../../../src/chain/solana/client.ts'
import { KAMINO } from '../../../../src/family/kamino/mod.ts'
import { createKaminoReader } from '../../../../src/family/kamino/read/read.ts'
import { KAMINO_MAINNET, type KaminoMarket } from '../../../../src/finance/price/table/kamino.ts'
import type { Reply, Route } from '../../../../src/http/route/route.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { callRoute, type RouteTestRequest, toRouteFailure } from '../../call_route.ts'
import { createFamilyRoutes } from '../../family.ts'
import type { SolanaDouble } from '../../solana.ts'
import { createFixedClock, settle } from '../../test_clock.ts'

export const LIST = '/v1/lending/kamino'
export const BATCH = `${LIST}/batch`
const OBLIGATION_ROUTE = `${LIST}/position/:obligation_address`
export const SLOT_MS = 400
/** Secrets that no answer and no log line may show. */
const SECRET = /solana-secret|127\.0\.0\.1|upstream text/

/** Answer of a route, from the parameters to the body. */
export interface KaminoAnswer {
  readonly status: number
  readonly code?: string
  readonly message?: string
  readonly reply?: Reply
  readonly credits?: number
}

interface StageOptions {
  /** Markets to search, and their rows of a `CHAINS_FILE`. */
  readonly rows?: readonly KaminoMarket[]
  /** True if the clock passes only in pauses, which take no time of the machine. */
  readonly skipsPauses?: boolean
  /** The wall clock. @default the machine's own */
  readonly now?: Clock['now']
}

/** The family over test doubles, with a reader and a clock that can be advanced. */
export function kaminoStage(doubles: readonly Pick<SolanaDouble, 'url'>[], options: StageOptions = {}) {
  const { rows = [], skipsPauses = false, now = systemClock.now } = options
  const lines: string[] = []
  let passedMs = 0
  const startMs = systemClock.monotonicMs()
  const monotonicMs = () => (skipsPauses ? startMs : systemClock.monotonicMs()) + passedMs
  const skip: Clock['sleep'] = async (ms) => {
    const untilMs = monotonicMs() + ms
    await settle(1)
    // Pauses at the same time pass together.
    passedMs += Math.max(0, untilMs - monotonicMs())
  }
  const clock: Clock = { ...systemClock, now, monotonicMs, sleep: skipsPauses ? skip : systemClock.sleep }
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const rpcUrls = doubles.map(({ url }) => url)
  const solana = createSolanaClient({ rpcUrls, maxSlotAgeSec: 60, slotMs: SLOT_MS, clock, log, random: () => 0 })
  const reader = createKaminoReader({ solana, program: KAMINO_MAINNET, rows, clock, log })
  const row = { kaminoMarkets: rows.map((each) => ({ ...each, reserves: [...each.reserves] })) }
  const routes = createFamilyRoutes(KAMINO, { solana, rows: [[SOLANA_CHAIN_ID, row]], clock, log })

  function findRoute(path: string): Route {
    const found = routes.find((each) => each.path === path)
    if (found === undefined) throw new Error(`There is no route ${path}`)
    return found
  }

  async function ask(path: string, question: RouteTestRequest): Promise<KaminoAnswer> {
    const route = findRoute(path)
    try {
      const { reply, credits } = await callRoute(route, question)
      return { status: 200, reply, credits }
    } catch (error) {
      const { status, code, message } = toRouteFailure(error, route)
      if (SECRET.test(message)) throw new Error(`A secret is in "${message}"`)
      return { status, code, message }
    }
  }

  const toQuery = (query: object) =>
    new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString()

  return {
    lines,
    solana,
    reader,
    /** Advances the clock, by default one slot, so that cached reads expire. */
    pass(ms = SLOT_MS) {
      passedMs += ms
    },
    /** Result of the reader, without routes. */
    wallet: (wallet: string, market?: string) =>
      reader.readWallet({ wallet, market }, createWork(new AbortController().signal)),
    list: (query: object) => ask(LIST, { query: toQuery(query) }),
    batch: (body: object, query: object = {}) => ask(BATCH, { body, query: toQuery(query) }),
    single: (figures: 'yield' | 'risk', obligation: string, query: object) =>
      ask(`${OBLIGATION_ROUTE}/${figures}`, { params: { obligation_address: obligation }, query: toQuery(query) }),
    /** Lists log lines that show a secret. */
    leaks: () => lines.filter((line) => SECRET.test(line)),
  }
}
