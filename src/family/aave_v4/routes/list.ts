import * as v from 'valibot'
import type { Address } from 'viem'
import { chainIdNumber, targetHealthFactorNumber, walletList } from '../../../http/request/batch.ts'
import {
  configuredChainId,
  evmAddress,
  limit,
  moment,
  momentFields,
  momentRule,
  page,
  targetHealthFactor,
} from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Reply, type Route } from '../../../http/route/route.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { EVM_ADDRESS } from '../../../lib/text/text_format.ts'
import { filterTargets, getEarliestExpiryMs, isNow, type Moment, readAt, toAsOf } from '../../moment.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import { presentReduced, presentWallet } from '../present/present.ts'
import { batchOutput, listOutput } from '../present/schema.ts'
import type { UnvaluedMarket, WalletPositions } from '../read/position.ts'
import type { AaveV4Target, SpokeReader } from '../read/read.ts'
import { CHARGES, marketIdParameter, NAME, PROTOCOL } from './market.ts'

/** A missing price rarely returns within a second. */
const UNANSWERABLE_RETRY_SEC = 60

/** Creates the list and the batch; `chainIds` are all configured chains, with this family or without. */
export function createRoutes({
  chainIds,
  markets,
  reader,
}: {
  readonly chainIds: readonly number[]
  /** Names of the spokes on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => SpokeReader
}): readonly Route[] {
  const market_id = v.optional(marketIdParameter(markets))
  const common = {
    errors: [503],
    count: ({ matching }: MatchedWallets) => matching.length,
    untilMs: ({ reads }: MatchedWallets, query: Moment) => (isNow(query) ? getEarliestExpiryMs(reads) : 0),
  } as const
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/lending/aave-v4',
      operation: 'aave_v4_positions',
      tool: { ...LENDING_TOOLS.list, protocol: PROTOCOL },
      summary:
        'Lists the positions of a wallet in Aave V4, one entry per chain, with its risk and yield in each spoke, where ' +
        'it has an account of its own.',
      input: v.pipe(
        v.object({
          wallet: evmAddress,
          market_id,
          chain_id: v.optional(configuredChainId(chainIds)),
          target_health_factor: targetHealthFactor,
          ...moment,
          ...receipt,
          page,
          limit,
        }),
        momentRule(),
      ),
      output: listOutput,
      charge: CHARGES.list,
      read: ({ wallet, ...filter }, { work }) => readMatching(reader(), { wallets: [wallet], filter }, work),
      present: (result, { target_health_factor: target, ...paged }, { url }) =>
        presentMatching(result, { ...paged, url }, (positions) => presentWallet(positions, target)),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/lending/aave-v4/batch',
      operation: 'aave_v4_batch',
      tool: { ...LENDING_TOOLS.batch, protocol: PROTOCOL },
      summary: 'Lists health factor, net worth and net APY of many wallets in Aave V4, one entry per wallet and chain.',
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
      output: batchOutput,
      charge: CHARGES.batch,
      read: ({ wallets, ...filter }, { work }) => readMatching(reader(), { wallets, filter }, work),
      present: (result, { target_health_factor: target, ...paged }, { url }) =>
        presentMatching(result, { ...paged, url }, (positions) => presentReduced(positions, target)),
    }),
  ]
}

interface Filter extends Moment {
  readonly chain_id?: number | undefined
  readonly market_id?: string | undefined
}

/** Positions of wallets that match a filter, by requested wallet, then by ascending chain; and all reads for them. */
async function readMatching(
  reader: SpokeReader,
  { wallets, filter }: { readonly wallets: readonly Address[]; readonly filter: Filter },
  work: Work,
) {
  const options = { targets: selectTargets(reader, filter), moment: filter, past: reader.past, work }
  const reads = await readAt(options, (targets) => reader.read(wallets, { targets, work }))
  const [unanswerable] = reads.flatMap((read) => read.unanswerable)
  if (unanswerable !== undefined) throw unvaluedMarketError(unanswerable)
  const order = new Map(wallets.map((wallet, index) => [wallet, index]))
  const getRank = ({ wallet }: WalletPositions): number => order.get(wallet) ?? 0
  const walletPositions = reads.flatMap((read) => read.wallets)
  return { reads, matching: walletPositions.sort((a, b) => getRank(a) - getRank(b) || a.chainId - b.chainId) }
}

type MatchedWallets = Awaited<ReturnType<typeof readMatching>>

function presentMatching(
  { reads, matching }: MatchedWallets,
  { page, limit, url }: { readonly page: number; readonly limit: number; readonly url: URL },
  present: (each: WalletPositions) => unknown,
): Reply {
  return {
    data: slicePage(matching, { page, limit }).map(present),
    pagination: createPagination({ page, limit, total: matching.length, url }),
    asOf: toAsOf(reads),
  }
}

/** Selects the chains to read, each with one spoke only if the caller named it. */
function selectTargets({ targets }: SpokeReader, { chain_id: chainId, market_id }: Filter): AaveV4Target[] {
  return filterTargets(targets, { chainId, what: NAME })
    .map(({ client, deployments }) => ({
      client,
      deployments: deployments.filter(({ name }) => market_id === undefined || name === market_id),
    }))
    .filter(({ deployments }) => deployments.length > 0)
}

function unvaluedMarketError({ chainId, market, wallet, reason }: UnvaluedMarket): UnavailableError {
  return new UnavailableError(
    `Cannot value spoke "${market}" on chain ${chainId} for wallet ${wallet} because ${reason}: ask for another ` +
      'spoke with the "market_id" parameter or for another chain with the "chain_id" parameter',
    { retryAfterSec: UNANSWERABLE_RETRY_SEC },
  )
}
