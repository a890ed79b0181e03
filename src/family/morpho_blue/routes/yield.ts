import * as v from 'valibot'
import type { Hex } from 'viem'
import { chainIdWith, evmWallet, moment, momentRule, targetHealthFactor } from '../../../http/request/input.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { isNow, notConfiguredError } from '../../moment.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import { presentYield, yieldOutput } from '../present/yield.ts'
import type { MarketRead } from '../read/position.ts'
import type { PositionReader } from '../read/read.ts'
import { CHARGES, marketId, NAME, PROTOCOL } from './market.ts'

/** A missing price or rate rarely returns within a second. */
const UNANSWERABLE_RETRY_SEC = 60

/** Creates the route for the yield of a wallet in one market. */
export function yieldRoute(options: {
  /** Chains that have Morpho. */
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
}): Route {
  const input = v.pipe(
    v.object({
      chain_id: chainIdWith(NAME, options.chainIds),
      wallet: evmWallet,
      market_id: marketId,
      target_health_factor: targetHealthFactor,
      ...moment,
      ...receipt,
    }),
    momentRule(),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/lending/morpho-blue/position/:chain_id/yield',
    operation: 'morpho_yield',
    tool: { ...LENDING_TOOLS.yield, protocol: PROTOCOL },
    summary: 'Interest earned and paid, net APY, leverage and weighted APYs of a wallet in one Morpho Blue market.',
    input,
    output: yieldOutput,
    errors: [404, 503],
    charge: CHARGES.yield,
    async read({ chain_id, wallet, market_id, ...requestMoment }, { work }) {
      const reader = options.reader()
      const configured = [reader.targets.get(chain_id)].filter((each) => each !== undefined)
      const [target] = await reader.past.resolve(configured, requestMoment, work)
      if (target === undefined) throw notConfiguredError(NAME)
      const { block, untilMs, markets } = await reader.read(target, { marketIds: [market_id], wallet }, work)
      return { block, untilMs, position: requirePosition(markets[0], { chain_id, wallet, market_id }) }
    },
    untilMs: ({ untilMs }, query) => (isNow(query) ? untilMs : 0),
    present: ({ block, position }, { chain_id, wallet, market_id }) => ({
      data: { chain_id, wallet, market_id, ...presentYield(position) },
      asOf: [{ chainId: chain_id, blockNumber: block.number }],
    }),
  })
}

function requirePosition(
  read: MarketRead | undefined,
  { chain_id, wallet, market_id }: { readonly chain_id: number; readonly wallet: string; readonly market_id: Hex },
) {
  if (read === undefined) throw new Error('Cannot read a Morpho market: its entry is missing')
  if (read.kind === 'position') return read.position
  if (read.kind === 'unanswerable') {
    throw new UnavailableError(read.message, { retryAfterSec: UNANSWERABLE_RETRY_SEC })
  }
  const reason = read.reason === 'no_market' ? 'there is no such market' : `wallet ${wallet} has no position in it`
  throw new CodedError(
    'NOT_FOUND',
    `Cannot find a position in Morpho market ${market_id} on chain ${chain_id}: ${reason}`,
  )
}
