import * as v from 'valibot'
import type { Address, Hex } from 'viem'
import {
  configuredChainId,
  evmWallet,
  limit,
  moment,
  momentRule,
  page,
  targetHealthFactor,
} from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { filterTargets, isNow, type Moment, readAt, toAsOf } from '../../moment.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import { presentWallet, type WalletMarkets } from '../present/list.ts'
import { listOutput } from '../present/schema.ts'
import type { EnteredMarketsReader } from '../read/entered_markets.ts'
import type { HeldRead } from '../read/position.ts'
import type { MorphoBlueTarget, PositionReader, WalletRead } from '../read/read.ts'
import { CHARGES, marketId, NAME, PROTOCOL } from './market.ts'

/** Markets of a wallet on a chain that a list has, those that it entered first. */
const MARKETS_MAX = 2_000

/** Creates the list of a wallet's markets; `chainIds` are all configured chains, with this family or without. */
export function listRoute(options: {
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
  readonly entered: () => EnteredMarketsReader
}): Route {
  const input = v.pipe(
    v.object({
      wallet: evmWallet,
      chain_id: v.optional(configuredChainId(options.chainIds)),
      market_id: v.optional(marketId),
      target_health_factor: targetHealthFactor,
      ...moment,
      page,
      limit,
    }),
    momentRule(),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/lending/morpho-blue',
    operation: 'morpho_positions',
    tool: { ...LENDING_TOOLS.list, protocol: PROTOCOL },
    summary:
      'Lists the positions of a wallet in all Morpho Blue markets, one entry per chain, with risk and yield in each. ' +
      'The first call for a wallet may answer 503 while its history is read.',
    input,
    output: listOutput,
    errors: [503],
    feature: 'history',
    charge: CHARGES.list,
    read: (query, { work }) => readMatching({ reader: options.reader(), entered: options.entered() }, query, work),
    count: ({ matching }) => matching.length,
    untilMs: ({ untilMs }, query) => (isNow(query) ? untilMs : 0),
    present: ({ reads, matching }, { target_health_factor, page, limit }, { url }) => ({
      data: slicePage(matching, { page, limit }).map((each) => presentWallet(each, target_health_factor)),
      pagination: createPagination({ page, limit, total: matching.length, url }),
      asOf: toAsOf(reads),
    }),
  })
}

interface ListQuery extends Moment {
  readonly wallet: Address
  readonly chain_id?: number | undefined
  readonly market_id?: Hex | undefined
}

/** A wallet's positions in the markets of a list, and the number of its other markets. */
type ListedRead = WalletRead & { readonly untilMs?: number; readonly omitted?: number }

/** A wallet's positions by ascending chain, and all reads for them. */
async function readMatching(
  { reader, entered }: { readonly reader: PositionReader; readonly entered: EnteredMarketsReader },
  { wallet, chain_id, market_id, ...moment }: ListQuery,
  work: Work,
) {
  const targets = filterTargets(reader.targets, { chainId: chain_id, what: NAME })
  const readTarget =
    (target: MorphoBlueTarget) =>
    (shared: Work): Promise<ListedRead> => {
      // A named market needs no history.
      if (market_id !== undefined) return reader.read(target, { wallet, marketIds: [market_id] }, shared)
      return entered.read(target, { wallet, marketsMax: MARKETS_MAX }, shared)
    }
  const options = { targets, moment, past: reader.past, work }
  const reads = await readAt(options, (resolved) => allOrAbort(resolved.map(readTarget), work))
  const matching = reads
    .map(({ block: { chainId }, markets, omitted = 0 }): WalletMarkets => {
      return { chainId, wallet, positions: markets.filter(isHeld), omitted }
    })
    .filter(({ positions, omitted }) => positions.length > 0 || omitted > 0)
    .sort((a, b) => a.chainId - b.chainId)
  return { reads, matching, untilMs: reads.length === 0 ? 0 : Math.min(...reads.map(({ untilMs = 0 }) => untilMs)) }
}

function isHeld(read: WalletRead['markets'][number]): read is HeldRead {
  return read.kind !== 'absent'
}
