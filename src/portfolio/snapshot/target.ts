import { hash } from 'node:crypto'
import type { Address, Hex } from 'viem'
import type { ChainPrices, FinanceClient } from '../../finance/chain.ts'
import { formatUsdE6 } from '../../finance/figure.ts'
import { toDatedClient } from '../../finance/price/past/dated_client.ts'
import { PRICE_RULE_REVISION } from '../../finance/price/pool/pool_price.ts'
import type { PortfolioFigures, PortfolioTarget } from '../../finance/series/portfolio.ts'
import { memoize } from '../../lib/memoize.ts'
import type { AssetReader, ChainAssets } from '../read/read_chain.ts'
import { classifyAssets } from '../sum/classify.ts'
import { isUnpriced } from '../sum/gap.ts'
import { computeTotal } from '../sum/total.ts'

/**
 * Rises with every change of what counts and of what is believed, so that midnights that were stored by an older rule
 * are read again.
 */
const COUNT_REVISION = 5

/** Hexadecimal digits of a target's name: as long as the address of a contract. */
const NAME_DIGITS = 40

/** What to read on a chain at each midnight. */
export interface MidnightQuery {
  readonly client: FinanceClient
  /** The feed of another chain that prices the native token; empty if none does. */
  readonly borrowedFeed: string
  /** Families whose holdings are read: names with their deployments. */
  readonly families: readonly string[]
  /** Tokens that the caller names, checksummed. */
  readonly tokens: readonly Address[]
  readonly includeUnlisted: boolean
}

/**
 * Creates the target of daily snapshots for a query on a chain. Only the default query (listed tokens alone) is
 * followed at later midnights.
 */
export function createSnapshotTarget(reader: AssetReader, query: MidnightQuery): PortfolioTarget {
  const { tokens, includeUnlisted } = query
  const client = toDatedClient(query.client)
  const getFigures = memoize((assets: ChainAssets) => computeFigures(assets, includeUnlisted))
  return {
    client,
    chainId: client.chain.id,
    name: createSeriesName({ ...query, client }),
    // Reads of wallets share nothing.
    walletsMax: 1,
    isFollowed: tokens.length === 0 && !includeUnlisted,
    async readFigures({ block }, wallets, signal) {
      const toText = (assets: ChainAssets) => JSON.stringify(getFigures(assets))
      const results = await Promise.all(
        wallets.map((wallet) => reader.readAgreed({ client, wallet, tokens, block }, { toText, signal })),
      )
      const endpointSets = results.map(({ endpoints }) => endpoints)
      const fewestEndpoints = endpointSets.reduce(
        (least, each) => (each.length < least.length ? each : least),
        endpointSets[0] ?? [],
      )
      return { value: results.map(({ value }) => getFigures(value)), endpoints: fewestEndpoints }
    },
  }
}

function computeFigures(
  { assets, block, isUnsourced, omitted = [] }: ChainAssets,
  includeUnlisted: boolean,
): PortfolioFigures {
  const rows = classifyAssets(assets, { includeUnlisted })
  const unsourced = new Set(isUnsourced ? [block.chainId] : [])
  const { netE6, assetsE6, debtE6, kindsE6, gaps } = computeTotal(rows, { unsourced, omitted })
  return {
    netWorthUsd: netE6 === undefined ? null : formatUsdE6(netE6),
    assetsUsd: formatUsdE6(assetsE6),
    debtUsd: formatUsdE6(debtE6),
    walletUsd: formatUsdE6(kindsE6.wallet),
    liquidityUsd: formatUsdE6(kindsE6.liquidity),
    suppliedUsd: formatUsdE6(kindsE6.supplied),
    unpriced: rows.filter(isUnpriced).length,
    gaps,
    rows: rows.length,
  }
}

/**
 * Hashes the inputs of figures besides the chain: with other tokens or families, or another rule of prices by pools,
 * figures are read again.
 */
export function createSeriesName(
  { client, borrowedFeed, families, tokens, includeUnlisted }: MidnightQuery,
  priceRule = PRICE_RULE_REVISION,
): Hex {
  const sortedTokens = [...new Set(tokens)].sort().join()
  const { chain } = client
  const text = [
    COUNT_REVISION,
    `pool prices ${priceRule}`,
    hashAddresses(chain.tokens.addresses),
    hashAddresses(chain.spamTokens),
    hashPrices(chain.prices),
    ...(borrowedFeed === '' ? [] : [`borrowed ${borrowedFeed}`]),
    sortedTokens,
    includeUnlisted,
    families.join(),
  ].join(';')
  return `0x${hash('sha256', text).slice(0, NAME_DIGITS)}`
}

const hashPrices = memoize((prices: ChainPrices) => hash('sha256', JSON.stringify(prices)))
const hashAddresses = memoize((addresses: readonly Address[]) => hash('sha256', addresses.toSorted().join()))
