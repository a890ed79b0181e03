import * as v from 'valibot'
import type { Address } from 'viem'
import type { Block } from '../../chain/block.ts'
import type { WithExpiry } from '../../chain/block_cache.ts'
import { chainIdNumber, targetHealthFactorNumber, walletList } from '../../http/request/batch.ts'
import {
  configuredChainId,
  evmAddress,
  evmWallet,
  flag,
  limit,
  moment,
  momentFields,
  momentRule,
  page,
  targetHealthFactor,
} from '../../http/request/input.ts'
import type { Charge } from '../../http/route/charge.ts'
import { createPagination, slicePage } from '../../http/route/page.ts'
import { receipt } from '../../http/route/receipt.ts'
import { defineRoute, type Reply, type Route } from '../../http/route/route.ts'
import type { Work } from '../../lib/async/work.ts'
import { UnavailableError } from '../../lib/error.ts'
import { EVM_ADDRESS } from '../../lib/text/text_format.ts'
import {
  type FamilyTarget,
  filterTargets,
  getEarliestExpiryMs,
  type HistoricalTargets,
  isNow,
  type Moment,
  readAt,
  toAsOf,
} from '../moment.ts'
import { LENDING_TOOLS } from '../tools.ts'

/*
 * List and batch of protocols whose wallets have an account in each market, with one health factor over all assets in
 * it: Aave V3 calls it a market, Aave V4 a spoke.
 */

/** A wallet with at least one position on a chain; markets in the order of configuration. */
export interface WalletMarkets<Position> {
  readonly chainId: number
  readonly wallet: Address
  readonly positions: readonly Position[]
}

/** A market in which a wallet's position cannot be valued. */
export interface UnvaluedMarket {
  readonly chainId: number
  readonly wallet: Address
  readonly market: string
  /** The reason, in words that follow "because". */
  readonly reason: string
}

/** The interpreted reading of one chain. A wallet without any position is in neither list. */
export interface MarketRead<Position> {
  readonly block: Block
  /** In the order of the requested wallets. */
  readonly wallets: readonly WalletMarkets<Position>[]
  readonly unanswerable: readonly UnvaluedMarket[]
}

/** Reads wallets' positions, each chain at one block. */
interface MarketReader<Deployment extends { readonly startBlock: number }, Position> {
  readonly targets: ReadonlyMap<number, FamilyTarget<Deployment>>
  readonly past: Pick<HistoricalTargets<Deployment>, 'resolve'>
  read(
    wallets: readonly Address[],
    options: { readonly targets: readonly FamilyTarget<Deployment>[]; readonly work: Work },
  ): Promise<readonly WithExpiry<MarketRead<Position>>[]>
}

/** What a protocol knows of its markets and the routes do not. */
interface MarketProtocol<Deployment extends { readonly startBlock: number }, Position> {
  /** The family as tools for agents name it; its code is its path segment. */
  readonly tool: { readonly code: string; readonly name: string }
  /** In errors: `Aave V3`. */
  readonly name: string
  /** Prefix of its operations: `aave`. */
  readonly operation: string
  /** What it calls a market: `spoke`. */
  readonly noun: string
  readonly summaries: { readonly list: string; readonly batch: string }
  readonly charges: { readonly list: Charge; readonly batch: Charge }
  /** Schemas of success bodies, without `request_id`. */
  readonly outputs: { readonly list: v.GenericSchema; readonly batch: v.GenericSchema }
  readonly getMarket: (deployment: Deployment) => string
  /** True if `full=true` adds what each asset's figures are computed from. @default {false} */
  readonly hasParts?: true
  /** Presents a wallet's positions; `target` is a health factor in decimal digits. */
  readonly presentWallet: (
    positions: WalletMarkets<Position>,
    options: { readonly target: string; readonly full: boolean },
  ) => unknown
  /** The same with only the figures of the batch. */
  readonly presentReduced: (positions: WalletMarkets<Position>, target: string) => unknown
}

const withParts = v.optional(
  v.pipe(
    flag,
    v.description("Adds each asset's token, amount, price and liquidation threshold, and the borrow limit."),
  ),
  'false',
)

/** A missing price rarely returns within a second. */
const UNANSWERABLE_RETRY_SEC = 60

interface Filter extends Moment {
  readonly chain_id?: number | undefined
  readonly market_id?: string | undefined
}

/** Creates the list and the batch of a protocol. */
export function marketRoutes<Deployment extends { readonly startBlock: number }, Position>(
  protocol: MarketProtocol<Deployment, Position>,
  {
    chainIds,
    marketId,
    reader,
  }: {
    /** All configured chains, with the family or without. */
    readonly chainIds: readonly number[]
    /** Schema of a market on any of them. */
    readonly marketId: v.GenericSchema<string, string>
    readonly reader: () => MarketReader<Deployment, Position>
  },
): readonly [list: Route, batch: Route] {
  const { tool, operation, summaries, charges, outputs, hasParts } = protocol
  const path = `/v1/lending/${tool.code}`
  const market_id = v.optional(marketId)
  // Without parts it has no such parameter, which is then false.
  const parts = (hasParts ? { full: withParts } : {}) as { readonly full: typeof withParts }
  const common = {
    errors: [503],
    count: ({ matching }: MatchedWallets<Position>) => matching.length,
    untilMs: ({ reads }: MatchedWallets<Position>, query: Moment) => (isNow(query) ? getEarliestExpiryMs(reads) : 0),
  } as const
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path,
      operation: `${operation}_positions`,
      tool: { ...LENDING_TOOLS.list, protocol: tool },
      summary: summaries.list,
      input: v.pipe(
        v.object({
          wallet: evmWallet,
          market_id,
          chain_id: v.optional(configuredChainId(chainIds)),
          target_health_factor: targetHealthFactor,
          ...parts,
          ...moment,
          ...receipt,
          page,
          limit,
        }),
        momentRule(),
      ),
      output: outputs.list,
      charge: charges.list,
      read: ({ wallet, ...filter }, { work }) => readMatching(protocol, reader(), { wallets: [wallet], filter, work }),
      present: (result, { target_health_factor: target, full = false, ...paged }, { url }) =>
        presentMatching(result, { ...paged, url }, (positions) => protocol.presentWallet(positions, { target, full })),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/batch`,
      operation: `${operation}_batch`,
      tool: { ...LENDING_TOOLS.batch, protocol: tool },
      summary: summaries.batch,
      input: v.object({ page, limit, ...receipt }),
      body: v.pipe(
        v.strictObject({
          wallets: walletList(evmAddress, { what: 'EVM addresses', format: EVM_ADDRESS }),
          chain_id: v.optional(chainIdNumber(chainIds)),
          market_id,
          target_health_factor: targetHealthFactorNumber,
          ...momentFields,
        }),
        momentRule(),
      ),
      output: outputs.batch,
      charge: charges.batch,
      read: ({ wallets, ...filter }, { work }) => readMatching(protocol, reader(), { wallets, filter, work }),
      present: (result, { target_health_factor: target, ...paged }, { url }) =>
        presentMatching(result, { ...paged, url }, (positions) => protocol.presentReduced(positions, target)),
    }),
  ]
}

/** Positions of wallets that match a filter, by requested wallet, then by ascending chain; and all reads for them. */
interface MatchedWallets<Position> {
  readonly reads: readonly WithExpiry<MarketRead<Position>>[]
  readonly matching: readonly WalletMarkets<Position>[]
}

async function readMatching<Deployment extends { readonly startBlock: number }, Position>(
  protocol: MarketProtocol<Deployment, Position>,
  reader: MarketReader<Deployment, Position>,
  { wallets, filter, work }: { readonly wallets: readonly Address[]; readonly filter: Filter; readonly work: Work },
): Promise<MatchedWallets<Position>> {
  const options = { targets: selectTargets(protocol, reader, filter), moment: filter, past: reader.past, work }
  const reads = await readAt(options, (targets) => reader.read(wallets, { targets, work }))
  const [unanswerable] = reads.flatMap((read) => read.unanswerable)
  if (unanswerable !== undefined) throw unvaluedMarketError(protocol, unanswerable)
  const order = new Map(wallets.map((wallet, index) => [wallet, index]))
  const getRank = ({ wallet }: { readonly wallet: Address }): number => order.get(wallet) ?? 0
  const all = reads.flatMap((read) => read.wallets)
  return { reads, matching: all.sort((a, b) => getRank(a) - getRank(b) || a.chainId - b.chainId) }
}

function presentMatching<Position>(
  { reads, matching }: MatchedWallets<Position>,
  { page, limit, url }: { readonly page: number; readonly limit: number; readonly url: URL },
  present: (each: WalletMarkets<Position>) => unknown,
): Reply {
  return {
    data: slicePage(matching, { page, limit }).map(present),
    pagination: createPagination({ page, limit, total: matching.length, url }),
    asOf: toAsOf(reads),
  }
}

/** Selects the chains to read, each with one market only if the caller named it. */
function selectTargets<Deployment extends { readonly startBlock: number }>(
  { name, getMarket }: Pick<MarketProtocol<Deployment, never>, 'name' | 'getMarket'>,
  { targets }: Pick<MarketReader<Deployment, never>, 'targets'>,
  { chain_id: chainId, market_id }: Filter,
): FamilyTarget<Deployment>[] {
  return filterTargets(targets, { chainId, what: name })
    .map(({ client, deployments }) => ({
      client,
      deployments: deployments.filter((each) => market_id === undefined || getMarket(each) === market_id),
    }))
    .filter(({ deployments }) => deployments.length > 0)
}

function unvaluedMarketError(
  { noun }: { readonly noun: string },
  { chainId, market, wallet, reason }: UnvaluedMarket,
): UnavailableError {
  return new UnavailableError(
    `Cannot value ${noun} "${market}" on chain ${chainId} for wallet ${wallet} because ${reason}: ask for another ` +
      `${noun} with the "market_id" parameter or for another chain with the "chain_id" parameter`,
    { retryAfterSec: UNANSWERABLE_RETRY_SEC },
  )
}
